#include "tests/fuzz/dictionary.hpp"

#include <array>
#include <cctype>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "models/gpu/gpu_spec.hpp"
#include "models/network/topology_spec.hpp"
#include "models/scenario/scenario_spec.hpp"
#include "models/scenario/sweep/metric.hpp"
#include "models/scenario/sweep/price_list.hpp"
#include "models/scenario/validation/collective_mapping.hpp"
#include "models/scenario/validation/mapping_rules.hpp"
#include "models/training/model_spec.hpp"
#include "quiz/bank/question_spec.hpp"
#include "quiz/bank/words.hpp"

namespace shardsim::fuzz {

namespace {

using simcore::FieldSchema;
using simcore::TypeSchema;

/// Gathers what a declaration says can be written.
class Words {
 public:
  void add(const TypeSchema& type, int depth = 0) {
    constexpr int deepest = 12;
    if (depth > deepest) return;
    for (const std::string& value : type.values) note(value);
    if (!type.example.empty()) note(type.example);
    for (const FieldSchema& field : type.fields) {
      note(field.key);
      note(field.key + ": ");
      if (!field.example.empty()) note(field.example);
      if (!field.default_text.empty()) note(field.default_text);
      for (const auto* bounds : {&field.bounds, &field.count}) {
        if (bounds->lower) note(bounds->lower->text);
        if (bounds->upper) note(bounds->upper->text);
      }
      add(field.type, depth + 1);
    }
    if (type.element != nullptr && seen_.insert(type.element).second)
      add(type.element(), depth + 1);
    for (const TypeSchema& one : type.alternatives) add(one, depth + 1);
  }

  void note(const std::string& word) {
    constexpr std::size_t longest = 60;
    if (!word.empty() && word.size() <= longest) words_.insert(word);
  }

  std::vector<std::string> take() const { return {words_.begin(), words_.end()}; }

 private:
  std::set<std::string> words_;
  std::set<TypeSchema (*)()> seen_;
};

constexpr auto yaml_texts = std::to_array<std::string_view>({"8 GiB",
                                                             "1 B",
                                                             "400 Gbit/s",
                                                             "25 GB/s",
                                                             "2.5 us",
                                                             "1 ps",
                                                             "50 %",
                                                             "100 %",
                                                             "0 %",
                                                             "null",
                                                             "true",
                                                             "false",
                                                             "[]",
                                                             "{}",
                                                             "- ",
                                                             "  - ",
                                                             "node[0].nic[0]",
                                                             "node[*].nic[*]",
                                                             "leaf[0]",
                                                             "node[0].gpu[0]<->node[0].nvswitch[0]",
                                                             "dgx-h100",
                                                             "pcie-4xl40s",
                                                             "gpt2-xl",
                                                             "llama-2-7b",
                                                             "h100-fat-tree",
                                                             "NCCL_ALGO: Ring",
                                                             "NCCL_PROTO: LL",
                                                             "#",
                                                             "|",
                                                             ">",
                                                             "'",
                                                             "\"",
                                                             "&a",
                                                             "*a",
                                                             "<<: ",
                                                             "!!int",
                                                             "---",
                                                             "...",
                                                             "=====\n"});

constexpr auto xml_texts = std::to_array<std::string_view>(
    {"<system version=\"1\">",
     "</system>",
     "<cpu numaid=\"0\" affinity=\"ffff\" arch=\"x86_64\" ",
     "vendor=\"GenuineIntel\" familyid=\"6\" modelid=\"143\">",
     "</cpu>",
     "<pci busid=\"0000:01:00.0\" ",
     "class=\"0x060400\" ",
     "class=\"0x030200\" ",
     "class=\"0x020700\" ",
     "link_speed=\"32.0 GT/s PCIe\" link_width=\"16\">",
     "</pci>",
     "<gpu dev=\"0\" sm=\"90\" rank=\"0\" gdr=\"1\">",
     "</gpu>",
     "<nvlink target=\"0000:05:00.0\" count=\"18\" tclass=\"0x068000\"/>",
     "tclass=\"0x068001\"",
     "tclass=\"0x030200\"",
     "<c2c bw=\"32\" count=\"5\"/>",
     "<nic>",
     "</nic>",
     "<net name=\"mlx5_0\" dev=\"0\" speed=\"400000\" port=\"1\" guid=\"0x1\" maxconn=\"131072\" "
     "gdr=\"1\"/>",
     "host_hash=\"0x1\"",
     "<graphs version=\"1\">",
     "</graphs>",
     "<graph id=\"0\" pattern=\"4\" crossnic=\"0\" nchannels=\"1\" speedintra=\"20\" "
     "speedinter=\"20\" "
     "latencyinter=\"0\" typeintra=\"NVL\" typeinter=\"PIX\" samechannels=\"1\">",
     "</graph>",
     "<channel>",
     "</channel>",
     "<gpu dev=\"0\"/>",
     "<gpu dev=\"0x1\" rank=\"1\"/>",
     "<net dev=\"0\"/>",
     "typeintra=\"SYS\"",
     "typeinter=\"PHB\"",
     "pattern=\"1\"",
     "pattern=\"5\"",
     "id=\"1\"",
     "id=\"2\"",
     "id=\"3\"",
     "id=\"4\"",
     "&amp;",
     "<!--",
     "-->",
     "<![CDATA[",
     "]]>"});

constexpr auto csv_texts = std::to_array<std::string_view>({"\"",
                                                            "\"\"",
                                                            ",",
                                                            "\r\n",
                                                            "FSDP1",
                                                            "FSDP2",
                                                            "DDP",
                                                            "DeepSpeed",
                                                            "ZeRO-3",
                                                            "H100-80GB",
                                                            "A100-40GB",
                                                            "A100-80GB",
                                                            "MPT-7b",
                                                            "Llama2-7B",
                                                            "FULL_SHARD",
                                                            "HYBRID_SHARD",
                                                            "SHARD_GRAD_OP",
                                                            "none",
                                                            "full",
                                                            "selective",
                                                            "bf16",
                                                            "fp16",
                                                            "fp32",
                                                            "yes",
                                                            "no",
                                                            "Y",
                                                            "N",
                                                            "A",
                                                            "C",
                                                            "OOM",
                                                            "8x400G IB",
                                                            "1600 Gbps RoCE per node",
                                                            "NCCL_ALGO=Ring",
                                                            "all_reduce",
                                                            "all_gather",
                                                            "float",
                                                            "bfloat16",
                                                            "send",
                                                            "recv",
                                                            "0x1p3",
                                                            "1e9",
                                                            "=====\n"});

constexpr auto word_texts =
    std::to_array<std::string_view>({"..",
                                     "1..64*2",
                                     "10..1-3",
                                     "1..9+2",
                                     "100..400*2 Gbit/s",
                                     "[1, 2]",
                                     "{a: 1}",
                                     "=",
                                     "+",
                                     "1/2",
                                     "8/8",
                                     "memory.fits",
                                     "step.time_s < 3 s",
                                     "cluster.gpus <= 64",
                                     "a.bytes",
                                     "a.time",
                                     "a.count",
                                     "b.time",
                                     "c.none",
                                     " and ",
                                     " or ",
                                     "not ",
                                     " ~ ",
                                     " within 5 %",
                                     "GiB",
                                     "ms",
                                     "(",
                                     ")",
                                     "!=",
                                     "==",
                                     "perturb[0].",
                                     "\"NCCL_ALGO\"",
                                     "nccl.env.NCCL_ALGO=Ring",
                                     "version=2.19.3",
                                     "topology=dgx-h100",
                                     "topology=gb200-nvl72",
                                     "NCCL_ALGO=^Tree,Ring",
                                     "NCCL_ALGO=allreduce:ring;broadcast:tree",
                                     "NCCL_PROTO=LL,LL128",
                                     "NCCL_PROTO=^Simple",
                                     "NCCL_MIN_NCHANNELS=",
                                     "NCCL_MAX_NCHANNELS=",
                                     "NCCL_MIN_CTAS=",
                                     "NCCL_MAX_CTAS=",
                                     "NCCL_BUFFSIZE=",
                                     "NCCL_NTHREADS=",
                                     "NCCL_LL128_NTHREADS=",
                                     "NCCL_THREAD_THRESHOLDS=",
                                     "NCCL_CROSS_NIC=",
                                     "NCCL_P2P_LEVEL=",
                                     "NCCL_P2P_DISABLE=1",
                                     "NCCL_NET_GDR_LEVEL=",
                                     "NCCL_NET_GDR_READ=",
                                     "NCCL_PXN_DISABLE=",
                                     "NCCL_NETDEVS_POLICY=MAX:",
                                     "NCCL_NETDEVS_POLICY=ALL",
                                     "NCCL_IB_HCA=^mlx5_0",
                                     "NCCL_SOCKET_IFNAME=",
                                     "NCCL_NET=Socket",
                                     "NCCL_COLLNET_ENABLE=1",
                                     "NCCL_NVLS_ENABLE=",
                                     "NCCL_PAT_ENABLE=1",
                                     "NCCL_MNNVL_ENABLE=0",
                                     "NCCL_SHM_DISABLE=1",
                                     "NCCL_P2P_NET_CHUNKSIZE=",
                                     "NCCL_CHUNK_SIZE=",
                                     "NCCL_CTA_POLICY=",
                                     "NCCL_IB_QPS_PER_CONNECTION=",
                                     "NCCL_LL_BUFFSIZE=",
                                     "NCCL_LL128_BUFFSIZE=",
                                     "NCCL_NCHANNELS_PER_NET_PEER=",
                                     "NCCL_CGA_CLUSTER_SIZE=",
                                     "NCCL_NVLS_NCHANNELS=",
                                     "SYS",
                                     "PIX",
                                     "0x10",
                                     "-1"});

constexpr auto json_texts =
    std::to_array<std::string_view>({"\"schema\":",
                                     "\"shardsim.sweep/1\"",
                                     "\"point\":",
                                     "\"index\":",
                                     "\"of\":",
                                     "\"values\":{}",
                                     "\"scenario\":{\"hash\":\"0000000000000000\"}",
                                     "\"failed\":{\"kind\":\"deadlock\"}",
                                     "[",
                                     "]",
                                     "{",
                                     "}",
                                     ",",
                                     "null",
                                     "true",
                                     "1e400",
                                     "-0.0",
                                     "18446744073709551615",
                                     "\"\\ud800\"",
                                     "\"shardsim.chunk-work/1\"",
                                     "\"cluster\":",
                                     "\"topology\":",
                                     "\"nodes\":",
                                     "\"env\":",
                                     "\"shardsim.quiz-progress/1\"",
                                     "\"answers\":",
                                     "\"sure\":",
                                     "[\"q\",\"a\"]",
                                     "[\"s\"]",
                                     "\n",
                                     "=====\n"});

std::vector<std::string> make(Grammar grammar) {
  Words words;
  const auto add_texts = [&words](const auto& texts) {
    for (const std::string_view one : texts) words.note(std::string(one));
  };
  if (grammar == Grammar::yaml || grammar == Grammar::words) {
    words.add(simcore::schema_of<scenario::ScenarioSpec>());
  }
  if (grammar == Grammar::yaml) {
    words.add(simcore::schema_of<network::TopologySpec>());
    words.add(simcore::schema_of<gpu::GpuSpec>());
    words.add(simcore::schema_of<training::ModelSpec>());
    words.add(simcore::schema_of<scenario::PriceList>());
    words.add(simcore::schema_of<scenario::MappingRules>());
    words.add(simcore::schema_of<scenario::CollectiveRules>());
    words.add(simcore::schema_of<quiz::BankSpec>());
    words.add(simcore::schema_of<quiz::Words>());
    add_texts(yaml_texts);
  }
  if (grammar == Grammar::json) {
    for (const scenario::Metric& one : scenario::metrics) {
      words.note(fmt::format("\"{}\":{{\"{}\":1}}", one.section, one.key));
    }
    add_texts(json_texts);
  }
  if (grammar == Grammar::xml) add_texts(xml_texts);
  if (grammar == Grammar::csv) add_texts(csv_texts);
  if (grammar == Grammar::words) add_texts(word_texts);
  return words.take();
}

}  // namespace

const std::vector<std::string>& dictionary(Grammar grammar) {
  static const std::array<std::vector<std::string>, 5> all{make(Grammar::yaml), make(Grammar::xml),
                                                           make(Grammar::csv), make(Grammar::json),
                                                           make(Grammar::words)};
  return all.at(static_cast<std::size_t>(grammar));
}

std::string dictionary_file(Grammar grammar) {
  std::string text;
  for (const std::string& word : dictionary(grammar)) {
    text += '"';
    for (const char c : word) {
      const bool plain = std::isprint(static_cast<unsigned char>(c)) != 0 && c != '"' && c != '\\';
      text += plain
                  ? std::string(1, c)
                  : fmt::format("\\x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    }
    text += "\"\n";
  }
  return text;
}

}  // namespace shardsim::fuzz
