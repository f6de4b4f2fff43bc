#include "quiz/show/text_plots.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "quiz/show/step_spans.hpp"

namespace shardsim::quiz {

namespace {

constexpr int bar_columns = 30;
constexpr int timeline_columns = 60;

class Plotter {
 public:
  Plotter(const ViewSpec& view, const NamedRuns& runs, const Words& words, const PlotStyle& style)
      : view_(view), runs_(runs), words_(words), style_(style) {}

  std::vector<std::string> draw() {
    switch (view_.kind) {
      case ViewKind::memory:
        memory();
        break;
      case ViewKind::timeline:
        timeline();
        break;
      case ViewKind::curve:
        curve();
        break;
      case ViewKind::bars:
        for (const std::string& name : view_.facts) bars(name);
        break;
    }
    return std::move(lines_);
  }

 private:
  const EvidenceRun& run(const std::string& name) const { return *runs_.at(name); }
  const std::string& run_name(const std::string& name) const { return words_.runs.at(name); }
  const Quantity& fact(const std::string& run_name, const std::string& fact) const {
    return run(run_name).facts.find(fact)->second;
  }
  std::string text(const Quantity& quantity) const {
    return quantity_text(words_.rules(), quantity);
  }

  std::string bar(double share, int columns) const {
    const double filled = std::clamp(share, 0.0, 1.0) * columns;
    if (!style_.unicode) return std::string(static_cast<std::size_t>(std::lround(filled)), '#');
    static constexpr std::array eighths{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    std::string made;
    const int whole = static_cast<int>(filled);
    for (int i = 0; i < whole; ++i) made += "█";
    return made + eighths[static_cast<std::size_t>((filled - whole) * 8)];
  }

  std::string padded_bar(double share) const {
    const std::string made = bar(share, bar_columns);
    const std::size_t columns = display_columns(made);
    return made + std::string(bar_columns - std::min<std::size_t>(bar_columns, columns), ' ');
  }
  static std::size_t display_columns(const std::string& bar) {
    return static_cast<std::size_t>(std::count_if(bar.begin(), bar.end(), [](char byte) {
      return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
    }));
  }

  void measured(const Quantity& quantity, double share, const std::string& what) {
    if (style_.plain) {
      lines_.push_back(fmt::format("  {}: {}", what, text(quantity)));
    } else {
      lines_.push_back(fmt::format("  {:>10}  {}  {}", text(quantity), padded_bar(share), what));
    }
  }

  void memory() {
    const std::array<std::pair<const char*, const std::string*>, 5> parts{
        {{"parameters", &words_.facts.at("parameters")},
         {"gradients", &words_.facts.at("gradients")},
         {"optimizer", &words_.facts.at("optimizer")},
         {"gathered_at_turn", &words_.labels.at("gathered")},
         {"activations", &words_.labels.at("activations")}}};
    double most = 1;
    for (const std::string& name : view_.runs) {
      for (const auto& [part, label] : parts) most = std::max(most, fact(name, part).value);
    }
    lines_.push_back(words_.labels.at("memory_per_gpu"));
    for (const std::string& name : view_.runs) {
      lines_.push_back(" " + run_name(name));
      for (const auto& [part, label] : parts) {
        measured(fact(name, part), fact(name, part).value / most, *label);
      }
    }
  }

  void shades(const Spans& spans, simcore::SimTime step, simcore::SimTime longest,
              const std::string& what) {
    static constexpr std::array heights{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static constexpr std::array letters{" ", ".", ".", ":", ":", "+", "+", "#", "#"};
    // Steps of one view share a time axis.
    const int columns = std::max(
        1, static_cast<int>(std::lround(timeline_columns * step.seconds() / longest.seconds())));
    std::string row;
    for (const double share : coverage(spans, step, columns)) {
      const int level =
          share <= 1e-6 ? 0 : std::clamp(static_cast<int>(std::ceil(share * 8)), 1, 8);
      const auto at = static_cast<std::size_t>(level);
      row += style_.unicode ? heights[at] : letters[at];
    }
    row += std::string(static_cast<std::size_t>(std::max(0, timeline_columns - columns)), ' ');
    lines_.push_back("  |" + row + "|  " + what);
  }

  void timeline() {
    simcore::SimTime longest = simcore::SimTime::picoseconds(1);
    for (const std::string& name : view_.runs) {
      const StepSpans spans = spans_of(run(name).output.logs.front());
      longest = std::max(longest, spans.step);
    }
    lines_.push_back(words_.labels.at("timeline"));
    for (const std::string& name : view_.runs) {
      lines_.push_back(fmt::format(" {}: {}", run_name(name), text(fact(name, "step"))));
      if (style_.plain) {
        for (const char* part : {"compute", "communication", "hidden", "exposed"}) {
          measured(fact(name, part), 0, words_.facts.at(part));
        }
        continue;
      }
      const StepSpans spans = spans_of(run(name).output.logs.front());
      shades(spans.computing, spans.step, longest, words_.labels.at("computing"));
      shades(spans.communicating, spans.step, longest, words_.labels.at("communicating"));
      shades(spans.exposed, spans.step, longest, words_.labels.at("exposed_part"));
    }
  }

  void bars(const std::string& y) {
    lines_.push_back(words_.facts.at(y));
    const double most = greatest(y);
    for (const std::string& name : view_.runs) {
      measured(fact(name, y), fact(name, y).value / most, run_name(name));
    }
  }

  double greatest(const std::string& y) const {
    double most = 1e-12;
    for (const std::string& name : view_.runs) most = std::max(most, fact(name, y).value);
    return most;
  }

  void curve() {
    for (const std::string& y : view_.facts) {
      const Fillings names{{"y", filling(words_.facts.at(y))},
                           {"x", filling(words_.facts.at(*view_.x))}};
      lines_.push_back(fill(words_.labels.at("curve"), names));
      const double most = greatest(y);
      for (const std::string& name : view_.runs) {
        // The main run has no x in its name: it is given for all.
        const std::string x = text(fact(name, *view_.x));
        measured(fact(name, y), fact(name, y).value / most,
                 fmt::format("{} ({}: {})", run_name(name), words_.facts.at(*view_.x), x));
      }
    }
  }

  const ViewSpec& view_;
  const NamedRuns& runs_;
  const Words& words_;
  const PlotStyle& style_;
  std::vector<std::string> lines_;
};

}  // namespace

std::vector<std::string> plot(const ViewSpec& view, const NamedRuns& runs, const Words& words,
                              const PlotStyle& style) {
  return Plotter(view, runs, words, style).draw();
}

}  // namespace shardsim::quiz
