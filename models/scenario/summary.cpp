#include "models/scenario/summary.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "simcore/quantity.hpp"

namespace shardsim::scenario {

using simcore::to_text;

namespace {

/// 1234567 as "1,234,567".
std::string grouped(double value) {
  std::string digits = fmt::format("{:.0f}", value);
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) digits.insert(at, ",");
  return digits;
}

class Writer {
 public:
  explicit Writer(const SummaryStyle& style) : style_(style) {}

  std::string take() { return std::move(text_); }

  template <class... Arguments>
  void line(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Arguments>(arguments)...);
    text_ += '\n';
  }
  void blank() { text_ += '\n'; }

  std::string bold(const std::string& text) const { return paint(text, "1"); }
  std::string faint(const std::string& text) const { return paint(text, "2"); }
  std::string warn(const std::string& text) const { return paint(text, "33"); }

  /// A bar `share` (0..1) of `width` columns long.
  std::string bar(double share, int width) const {
    const double filled = std::clamp(share, 0.0, 1.0) * width;
    std::string text;
    if (!style_.unicode) {
      text.assign(static_cast<std::size_t>(std::lround(filled)), '#');
      return text;
    }
    static constexpr const char* eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    const int whole = static_cast<int>(filled);
    for (int i = 0; i < whole; ++i) text += "█";
    text += eighths[static_cast<int>((filled - whole) * 8)];
    return text;
  }

  /// One column a stretch, its height the share of it that was busy.
  std::string shades(const std::vector<double>& busy) const {
    static constexpr const char* heights[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static constexpr const char* letters[] = {" ", ".", ".", ":", ":", "+", "+", "#", "#"};
    std::string text;
    for (const double share : busy) {
      const int level = share <= 0 ? 0 : std::clamp(static_cast<int>(std::ceil(share * 8)), 1, 8);
      text += style_.unicode ? heights[level] : letters[level];
    }
    return text;
  }

 private:
  std::string paint(const std::string& text, const char* code) const {
    return style_.colour ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
  }

  const SummaryStyle& style_;
  std::string text_;
};

/// `text` in lines of at most `width` columns, broken after commas.
std::vector<std::string> wrapped(std::string text, std::size_t width) {
  std::vector<std::string> lines;
  while (text.size() > width) {
    const std::size_t comma = text.rfind(", ", width - 1);
    if (comma == std::string::npos) break;
    lines.push_back(text.substr(0, comma + 1));
    text.erase(0, comma + 2);
  }
  lines.push_back(std::move(text));
  return lines;
}

void write_interval(Writer& out, const Result& result) {
  if (!result.interval) return;
  const StepInterval& interval = *result.interval;
  const std::string indent(16, ' ');
  out.line("{}90 % interval {} to {}, from {} published runs; {} comparable:", indent,
           to_text(interval.low), to_text(interval.high), interval.runs,
           interval.comparable ? fmt::format("{}", interval.comparable_runs) : "none is");
  for (const std::string& line : wrapped(interval.what, 100 - indent.size())) {
    out.line("{}{}", indent, out.faint(line));
  }
}

void write_forecast(Writer& out, const Result& result) {
  for (const std::string& line : wrapped(title_of(result), 100)) out.line("{}", out.bold(line));
  const std::string topology = result.topology.empty() ? "" : " of " + result.topology;
  out.line("{}", out.faint(fmt::format("{} x {}, {} node{}{}", result.gpus, result.gpu,
                                       result.nodes, result.nodes == 1 ? "" : "s", topology)));
  out.blank();
  out.line("  step time     {}", out.bold(to_text(result.step.time)));
  write_interval(out, result);
  if (result.throughput.tokens_per_s <= 0) return;
  out.line("  throughput    {} tokens/s, {} per GPU", grouped(result.throughput.tokens_per_s),
           grouped(result.throughput.tokens_per_s_per_gpu));
  std::string hardware;
  if (result.throughput.hfu > result.throughput.mfu * 1.005) {
    hardware = fmt::format(", HFU {:.1f} % with recomputation", result.throughput.hfu * 100);
  }
  // Of the dense peak of the compute type, which for fp8 is bf16 (docs/accuracy.md).
  const double peak = result.throughput.mfu > 0
                          ? result.throughput.model_tflops_per_gpu / result.throughput.mfu
                          : 0;
  out.line("  MFU           {:.1f} % ({:.0f} of {:.0f} TFLOP/s per GPU{})",
           result.throughput.mfu * 100, result.throughput.model_tflops_per_gpu, peak, hardware);
}

void write_step(Writer& out, const Result& result) {
  const StepResult& step = result.step;
  const double whole = std::max(1e-12, step.time.seconds());
  const auto row = [&](const char* what, simcore::SimTime time) {
    const double share = time.seconds() / whole;
    out.line("  {:<22}{:>10}  {:>5.1f} %  {}", what, to_text(time), share * 100,
             out.bar(share, 40));
  };
  out.blank();
  out.line("{}", out.bold("The step"));
  row("compute", step.compute);
  row("exposed communication", step.exposed_communication);
  row("waiting for the CPU", step.cpu_bound);
  if (result.simulator.simulated_ranks > 1) {
    out.line("  of rank {}, the slowest", result.rank);
  }
  if (step.communication > simcore::SimTime{}) {
    out.line("  communication takes {} in all, {:.0f} % of it hidden behind compute",
             to_text(step.communication), step.overlap_fraction * 100);
    if (step.interference > simcore::SimTime{}) {
      out.line("  which it slows by {}: counted as compute", to_text(step.interference));
    }
  }
}

void write_streams(Writer& out, const Result& result) {
  if (result.streams.empty()) return;
  out.blank();
  out.line("{}", out.bold("Streams over the step"));
  for (const StreamOccupancy& stream : result.streams) {
    out.line("  {:<15}|{}|", stream.name, out.shades(stream.busy));
  }
  const std::size_t width = result.streams.front().busy.size();
  const std::string end = to_text(result.step.time);
  out.line("  {:<15} 0{:>{}}", "", end, width - 1);
}

void write_collectives(Writer& out, const Result& result) {
  if (result.collectives.empty()) return;
  out.blank();
  out.line("{}", out.bold("Collectives"));
  out.line("  {}",
           out.faint(fmt::format("{:<15}{:<12}{:>5}{:>11}{:>11}{:>11}{:>10}   {}", "kind", "group",
                                 "count", "data", "time", "exposed", "busbw", "by (channels)")));
  for (const CollectiveResult& one : result.collectives) {
    // Prescribed times move no bytes that could be counted.
    const bool moves = one.bytes.count > 0;
    const std::string rate =
        moves ? fmt::format("{:.0f} GB/s", one.busbw_gbytes_per_s) : std::string();
    const std::string choice = one.algorithm.empty() ? std::string()
                                                     : fmt::format("{} {} ({})", one.algorithm,
                                                                   one.protocol, one.channels);
    out.line("  {:<15}{:<12}{:>5}{:>11}{:>11}{:>11}{:>10}   {}", one.kind,
             fmt::format("{} ({})", one.group, one.group_size), one.count,
             moves ? to_text(one.bytes) : std::string(), to_text(one.time), to_text(one.exposed),
             rate, choice);
  }
  // The rest of the step's exposed communication, so that the column adds up.
  simcore::SimTime besides = result.step.exposed_communication;
  for (const CollectiveResult& one : result.collectives) besides = besides - one.exposed;
  if (besides.seconds() < 1e-3 * result.step.time.seconds()) return;
  out.line("  {:<48}{:>17}", "copies, and waiting for the slowest rank", to_text(besides));
}

void write_memory(Writer& out, const Result& result) {
  const MemoryResult& memory = result.memory;
  if (memory.peak_allocated.count == 0) return;
  const double capacity = static_cast<double>(std::max<std::int64_t>(1, memory.capacity.count));
  out.blank();
  out.line("{}", out.bold("Memory per GPU"));
  const auto used = memory.peak_reserved + memory.outside;
  out.line("  {} of {} used at the peak{}  {}", to_text(used), to_text(memory.capacity),
           memory.fits ? "" : out.warn(" - does not fit"),
           out.bar(static_cast<double>(used.count) / capacity, 30));
  out.line("  {}",
           out.faint(fmt::format("{} reserved by the allocator, of which {} allocated, and {} "
                                 "outside it",
                                 to_text(memory.peak_reserved), to_text(memory.peak_allocated),
                                 to_text(memory.outside))));
  for (int kind = 0; kind < cuda::memory_kind_count; ++kind) {
    const simcore::Bytes bytes = memory.by_kind[kind];
    if (bytes.count == 0) continue;
    std::string name = memory_kind_name(static_cast<cuda::MemoryKind>(kind));
    std::replace(name.begin(), name.end(), '_', ' ');
    out.line("    {:<24}{:>11}  {}", name, to_text(bytes),
             out.bar(static_cast<double>(bytes.count) / capacity, 40));
  }
  const simcore::Bytes cached = memory.peak_reserved - memory.peak_allocated;
  out.line("    {:<24}{:>11}  {}", "cached by the allocator", to_text(cached),
           out.bar(static_cast<double>(cached.count) / capacity, 40));
  out.line("    {:<24}{:>11}  {}", "CUDA context and NCCL", to_text(memory.outside),
           out.bar(static_cast<double>(memory.outside.count) / capacity, 40));
}

/// Per node, unlike the table above it.
void write_host_memory(Writer& out, const Result& result) {
  if (!result.memory.host) return;
  const HostMemoryResult& host = *result.memory.host;
  const auto of = [&host](cuda::MemoryKind kind) {
    return to_text(host.by_kind[static_cast<std::size_t>(kind)]);
  };
  out.line("  host memory per node: {}",
           host.capacity ? fmt::format("{} of {}", to_text(host.used()), to_text(*host.capacity))
                         : to_text(host.used()) + ", capacity unknown");
  out.line("    {}",
           out.faint(fmt::format("parameters {}, gradients {}, optimizer {}",
                                 of(cuda::MemoryKind::parameters), of(cuda::MemoryKind::gradients),
                                 of(cuda::MemoryKind::optimizer))));
}

/// The picture under the table: what is allocated over the step, and what the peak is for.
void write_memory_over_step(Writer& out, const Result& result) {
  const MemoryResult& memory = result.memory;
  if (memory.over_step.empty() || !memory.timeline.peak) return;
  const double full = static_cast<double>(memory.peak_allocated.count);
  std::vector<double> heights;
  for (const simcore::Bytes bytes : memory.over_step) {
    heights.push_back(static_cast<double>(bytes.count) / full);
  }
  out.line("  {:<15}|{}|", "over the step", out.shades(heights));
  const MemoryPeak& peak = *memory.timeline.peak;
  std::string when;
  if (!peak.time) when = fmt::format(" of step {}, in warm-up", peak.step);
  std::string kind = memory_kind_name(peak.kind);
  std::replace(kind.begin(), kind.end(), '_', ' ');
  out.line("  {:<15} peak of {} {}{}: {} ({})", "", to_text(peak.allocated),
           peak.operation.empty() ? "between operations" : "at " + peak.operation, when,
           peak.allocation, kind);
}

void write_causes(Writer& out, const Result& result) {
  if (result.critical_path.empty()) return;
  out.blank();
  out.line("{}", out.bold("Why: where the step's time goes"));
  const std::size_t count = std::min<std::size_t>(5, result.critical_path.size());
  for (std::size_t i = 0; i < count; ++i) {
    const PathShare& part = result.critical_path[i];
    out.line("  {}. {:<42}{:>10}  {:>5.1f} %", i + 1, part.what, to_text(part.time),
             part.share * 100);
  }
  simcore::SimTime other;
  double share = 0;
  for (std::size_t i = count; i < result.critical_path.size(); ++i) {
    other += result.critical_path[i].time;
    share += result.critical_path[i].share;
  }
  if (other > simcore::SimTime{}) {
    out.line("     {:<42}{:>10}  {:>5.1f} %", "other", to_text(other), share * 100);
  }
}

void write_jobs(Writer& out, const Result& result) {
  if (result.jobs.empty()) return;
  out.blank();
  out.line("{}", out.bold("Beside it on the cluster"));
  for (const JobResult& job : result.jobs) {
    if (job.steps == 0) {
      out.line("  {:<24}{:>6} GPUs   no whole step in this time", job.name, job.gpus);
      continue;
    }
    out.line("  {:<24}{:>6} GPUs   {:>10} {}, mean of {}", job.name, job.gpus,
             to_text(job.step_time), job.background ? "an exchange" : "a step", job.steps);
  }
}

void write_what_if(Writer& out, const Result& result) {
  if (result.what_if.empty()) return;
  out.blank();
  out.line("{}", out.bold("What if: the step with"));
  for (const WhatIf& one : result.what_if) {
    if (!one.step) {
      out.line("  {:<42}no forecast", one.text);
      continue;
    }
    const double change = one.step->seconds() / std::max(1e-12, result.step.time.seconds()) - 1;
    out.line("  {:<42}{:>10}  {:>+6.1f} %", one.text, to_text(*one.step), change * 100);
  }
}

}  // namespace

std::string title_of(const Result& result) {
  std::string changes;
  for (const std::string& change : result.overrides) {
    if (change.starts_with("name=")) continue;  // which is the name that stands there
    changes += (changes.empty() ? "" : ", ") + change;
  }
  if (changes.empty()) return result.scenario_name;
  return fmt::format("{} (changed: {})", result.scenario_name, changes);
}

std::string summarise(const Result& result, const SummaryStyle& style) {
  Writer out(style);
  write_forecast(out, result);
  write_step(out, result);
  write_streams(out, result);
  write_collectives(out, result);
  write_memory(out, result);
  write_memory_over_step(out, result);
  write_host_memory(out, result);
  write_causes(out, result);
  write_jobs(out, result);
  write_what_if(out, result);
  if (!result.warnings.empty()) {
    out.blank();
    for (const std::string& warning : result.warnings) {
      out.line("{} {}", out.warn("warning:"), warning);
    }
  }
  out.blank();
  out.line("{}", out.faint(fmt::format("simulated {} rank{} of {} in {:.0f} ms, {} events",
                                       result.simulator.simulated_ranks,
                                       result.simulator.simulated_ranks == 1 ? "" : "s",
                                       result.gpus, result.simulator.wall_s * 1e3,
                                       grouped(static_cast<double>(result.simulator.events)))));
  return out.take();
}

std::string summarise_advice(const Result& result) {
  std::string text;
  if (!result.out_of_memory || result.out_of_memory->tried == 0) return text;
  const OutOfMemoryResult& what = *result.out_of_memory;
  const auto out = std::back_inserter(text);
  if (what.suggestions.empty()) {
    fmt::format_to(out, "  none of the {} single changes that were tried makes it fit\n",
                   what.tried);
    return text;
  }
  fmt::format_to(out, "  it fits with any one of these; each was run:\n");
  for (const MemorySuggestion& one : what.suggestions) {
    fmt::format_to(
        out, "    {:<42} {} of {}, {} a step, {} tokens/s per GPU{}\n", one.key + "=" + one.value,
        to_text(one.used), to_text(result.memory.capacity), to_text(one.step_time),
        grouped(one.tokens_per_s_per_gpu),
        one.host_used ? fmt::format(", {} of host memory a node", to_text(*one.host_used)) : "");
  }
  return text;
}

}  // namespace shardsim::scenario
