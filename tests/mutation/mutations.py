"""Faults, each put into one line of one room, and the test program that must see it.

`was` has to occur exactly once in the file; it is text, not a line number, so that a mutation lives
on while the code around it moves. `tests` are arguments of the test program `by`.
"""

MUTATIONS = [
    # --- simcore ---
    dict(
        name="units: exact halves are rounded down",
        file="simcore/quantity_text.cpp",
        was="rest >= divisor - rest",
        now="rest > divisor - rest",
        by="simcore_tests",
    ),
    dict(
        name="events: those of one instant in any order",
        file="simcore/event_queue.cpp",
        was="return a.sequence < b.sequence;",
        now="return a.slot < b.slot;",
        by="simcore_tests",
    ),
    dict(
        name="YAML: the value may stand no deeper than its key",
        file="simcore/config/tree_builder.cpp",
        was="where.column >= least",
        now="where.column + 1 >= least",
        by="simcore_tests",
    ),
    # --- network ---
    dict(
        name="max-min: what other flows were given is not taken off a link",
        file="models/network/max_min_solver.cpp",
        was="work.weight += demand;\n    } else {\n      stopped += demand * load.rate;",
        now="work.weight += demand;\n    } else {\n      stopped += 0 * demand * load.rate;",
        by="network_tests",
    ),
    dict(
        name="routing: adaptive routes see only the last link",
        file="models/network/routing.cpp",
        was="return std::max(at->fullest, load(step.link));",
        now="return std::min(at->fullest, load(step.link));",
        by="network_tests",
    ),
    dict(
        name="routing: spraying does not divide",
        file="models/network/routing.cpp",
        was="amount.share / static_cast<double>(choices.size())",
        now="amount.share * static_cast<double>(choices.size() > 0)",
        by="network_tests",
    ),
    dict(
        name="departures: a class that is overfull is filled all the same",
        file="models/network/departure_fill.cpp",
        was="  if (overfull) {",
        now="  if (overfull && found.open < 0) {",
        by="network_tests",
    ),
    # --- gpu ---
    dict(
        name="matrix products: waves are not whole",
        file="models/gpu/gemm_model.cpp",
        was="std::ceil(tiling.count * split.parts / problem.sms)",
        now="std::max(1.0, tiling.count * split.parts / problem.sms)",
        by="gpu_tests",
    ),
    # --- cuda ---
    dict(
        name="allocator: the rest of a large block is kept at exactly 1 MiB",
        file="models/cuda/caching_allocator.cpp",
        was="rest > largest_small.count",
        now="rest >= largest_small.count",
        by="cuda_tests",
    ),
    dict(
        name="allocator: blocks of another stream serve",
        file="models/cuda/caching_allocator.cpp",
        was="at->stream != request.stream) return no_block;",
        now="at->size < request.block) return no_block;",
        by="cuda_tests",
    ),
    # --- nccl ---
    dict(
        name="tuning: the size factor of trees ends one column early",
        file="models/nccl/tuning_model.cpp",
        was="algorithm == tree && step < 23",
        now="algorithm == tree && step < 22",
        by="nccl_tests",
    ),
    dict(
        name="chunks: no credit is waited for",
        file="models/nccl/chunk/message_exchange.cpp",
        was="std::max(send_free, slot)",
        now="send_free",
        by="nccl_tests",
        tests=["--source-file=*message_exchange_test.cpp"],
    ),
    dict(
        name="paths: PXN relays through a GPU of another host",
        file="models/nccl/paths.cpp",
        was="if (!same_host && version >= NcclVersion{21, 0}) return false;",
        now="if (!same_host && version >= NcclVersion{31, 0}) return false;",
        by="nccl_tests",
        tests=["--source-file=*paths_test.cpp"],
    ),
    # --- training ---
    dict(
        name="FSDP1: the limiter lets one more all-gather fly",
        file="models/training/fsdp1.cpp",
        was="free_events_.size() < max_inflight_all_gathers",
        now="free_events_.size() <= max_inflight_all_gathers",
        by="training_tests",
    ),
    dict(
        name="FSDP2: backward prefetch takes the wrong neighbour",
        file="models/training/fsdp2.cpp",
        was="post_forward_order_[position - 1]",
        now="post_forward_order_[position]",
        by="training_tests",
    ),
    dict(
        name="FSDP2: the next all-gather does not wait for the copy out",
        file="models/training/fsdp2_unshard.cpp",
        was="  all_gather_streams_wait(parked_all_gather_->copy_out_event);\n",
        now="",
        by="training_tests",
    ),
    dict(
        name="ZeRO-3: a prefetch may exceed what may live",
        file="models/training/zero3_coordinator.cpp",
        was="std::min(limits_.max_live - live_elements_, limits_.prefetch_bucket)",
        now="limits_.prefetch_bucket",
        by="training_tests",
    ),
    # --- scenario ---
    dict(
        name="rank classes: how a link is loaded does not tell ranks apart",
        file="models/scenario/rank_classes.cpp",
        was="pairs.emplace_back(tie.label, links_[tie.link]);",
        now="pairs.emplace_back(tie.label, 0);",
        by="scenario_tests",
    ),
    dict(
        name="validation: a run with tensor parallelism is mapped as if it had none",
        file="models/scenario/validation/run_mapping.cpp",
        was="if (degree == 1) continue;",
        now="if (degree >= 1) continue;",
        by="scenario_tests",
    ),
    dict(
        name="step: overlapping communication is counted twice",
        file="models/scenario/step_analysis.cpp",
        was="const SimTime start = std::max(from, covered);",
        now="const SimTime start = from;",
        by="golden_tests",
        tests=["--source-file=*timeline_test.cpp"],
    ),
    # --- report, quiz, cli ---
    dict(
        name="pages: '<' of a name is not escaped",
        file="report/script_text.cpp",
        was='safe += "\\\\u003c";',
        now="safe += c;",
        by="report_tests",
    ),
    dict(
        name="quiz: several supported options are an answer",
        file="quiz/evidence/verdict.cpp",
        was="if (supported != 1) made.answer.clear();",
        now="if (supported < 1) made.answer.clear();",
        by="quiz_tests",
    ),
    dict(
        name="sweep: a resumed file may hold a point twice",
        file="cli/sweep_journal.cpp",
        was="if (row && !has(row->index)) {",
        now="if (row) {",
        by="cli_tests",
    ),
    dict(
        name="sweep: points of another sweep are kept",
        file="cli/sweep_journal.cpp",
        was="row->hash != hash || row->of != points",
        now="row->hash.empty() || row->of != points",
        by="cli_tests",
    ),
]
