// The hooks around a transformer's modules: what ZeRO-3 fetches and releases by.
#include "transformer_fixture.hpp"

using namespace shardsim;
using namespace shardsim::training;

namespace {

using Points = std::vector<ModulePoint>;

/// Points that each parameter's modules have passed in a step, in order.
std::map<std::pair<int, std::size_t>, Points> walk(const TransformerShape& shape,
                                                   Checkpointing checkpointing) {
  WorkloadSpec spec = sequences(64);
  spec.activation_checkpointing = checkpointing;
  spec.recompute_early_stop = false;
  TransformerWorkload workload(shape, spec, {});
  std::map<std::pair<int, std::size_t>, Points> seen;
  workload.set_module_hook([&](const ModulePass& pass) {
    for (const std::size_t parameter : pass.parameters) {
      seen[{pass.unit, parameter}].push_back(pass.point);
    }
  });
  cuda::ProgramRecorder recorder;
  record_forward(recorder, workload);
  record_backward(recorder, workload);
  return seen;
}

}  // namespace

TEST_CASE("every parameter's module is passed once forward and once backward") {
  const Points once{ModulePoint::pre_forward, ModulePoint::post_forward, ModulePoint::pre_backward,
                    ModulePoint::post_backward};
  const TransformerShape shape = small_llama();
  const auto seen = walk(shape, Checkpointing::none);
  CHECK(seen.size() == root_parameters(shape).size() +
                           static_cast<std::size_t>(shape.layers) * block_parameters(shape).size());
  for (const auto& [parameter, points] : seen) CHECK(points == once);
}

TEST_CASE("a tied table is passed by the head, too") {
  const auto seen = walk(small_gpt(), Checkpointing::none);
  CHECK(seen.at({root_unit, 0}).size() == 8);
  CHECK(seen.at({root_unit, 1}).size() == 4);
}

TEST_CASE("recomputation passes a block's modules forward again") {
  const auto seen = walk(small_llama(), Checkpointing::full);
  CHECK(seen.at({0, 0}) == Points{ModulePoint::pre_forward, ModulePoint::post_forward,
                                  ModulePoint::pre_forward, ModulePoint::post_forward,
                                  ModulePoint::pre_backward, ModulePoint::post_backward});
  CHECK(seen.at({root_unit, 0}).size() == 4);
}

TEST_CASE("a module's kernels lie between its hooks") {
  TransformerWorkload workload(small_llama(), sequences(64), {});
  cuda::ProgramRecorder recorder;
  std::vector<std::string> order;
  workload.set_module_hook([&](const ModulePass& pass) {
    const bool before =
        pass.point == ModulePoint::pre_forward || pass.point == ModulePoint::pre_backward;
    if (pass.unit == 0 && pass.parameters.size() == 1 && pass.parameters[0] == 1) {
      recorder.launch(cuda::ProgramRecorder::compute_stream, before ? "before" : "after",
                      cuda::KernelSpec{});
    }
  });
  record_forward(recorder, workload);
  record_backward(recorder, workload);
  const cuda::Program program = recorder.finish();
  for (const cuda::Op& op : program.ops) {
    if (op.code == cuda::OpCode::kernel) order.push_back(program.names[op.name]);
  }
  const auto between = [&order](std::vector<std::string> names) {
    return std::ranges::search(order, names).begin() != order.end();
  };
  const std::string wk = "layers.0." + block_parameters(small_llama())[1].name;
  const std::string module = wk.substr(0, wk.rfind('.'));
  CHECK(between({"before", module, "after"}));
  CHECK(between({"before", module + ".dgrad", module + ".wgrad", "after"}));
}
