#include "models/scenario/memory_snapshot.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include "models/scenario/memory_timeline.hpp"
#include "models/scenario/result.hpp"
#include "simcore/output/pickle_writer.hpp"

namespace shardsim::scenario {

using cuda::AllocatorActionKind;
using cuda::BlockState;
using simcore::PickleWriter;

namespace {

const char* action_name(AllocatorActionKind kind) {
  switch (kind) {
    case AllocatorActionKind::alloc:
      return "alloc";
    case AllocatorActionKind::free_requested:
      return "free_requested";
    case AllocatorActionKind::free_completed:
      return "free_completed";
    case AllocatorActionKind::segment_alloc:
      return "segment_alloc";
    case AllocatorActionKind::segment_free:
      return "segment_free";
    case AllocatorActionKind::segment_map:
      return "segment_map";
    case AllocatorActionKind::segment_unmap:
      return "segment_unmap";
    case AllocatorActionKind::oom:
      return "oom";
  }
  return "alloc";
}

const char* state_name(BlockState state) {
  if (state == BlockState::allocated) return "active_allocated";
  return state == BlockState::pending ? "active_pending_free" : "inactive";
}

class SnapshotWriter {
 public:
  SnapshotWriter(std::ostream& out, const AllocatorTrace& trace)
      : pickle_(out), trace_(trace), program_(*trace.program) {}

  void write() {
    pickle_.begin_dict();
    pickle_.value("device_traces");
    pickle_.begin_list();
    pickle_.begin_list();
    for (const cuda::AllocatorRecord& record : trace_.records) write_action(record);
    pickle_.end_list();
    pickle_.end_list();
    pickle_.value("segments");
    pickle_.begin_list();
    for (const cuda::SegmentSnapshot& segment : trace_.segments) write_segment(segment);
    pickle_.end_list();
    write_settings();
    pickle_.value("external_annotations");
    pickle_.begin_list();
    pickle_.end_list();
    pickle_.end_dict();
    pickle_.finish();
  }

 private:
  /// What an address holds.
  struct Live {
    std::int64_t requested = 0;
    std::uint32_t op = 0;  ///< that allocated it
  };

  void write_action(const cuda::AllocatorRecord& record) {
    const cuda::AllocatorAction& action = record.action;
    std::int64_t bytes = action.bytes.count;
    std::uint32_t op = record.op;
    const bool block = action.kind == AllocatorActionKind::free_requested ||
                       action.kind == AllocatorActionKind::free_completed;
    if (action.kind == AllocatorActionKind::alloc) live_[action.address] = {bytes, op};
    if (block) std::tie(bytes, op) = holder(action.address, bytes, op);
    pickle_.begin_dict();
    pickle_.member("action", action_name(action.kind));
    pickle_.member(action.kind == AllocatorActionKind::oom ? "device_free" : "addr",
                   action.address);
    pickle_.member("size", bytes);
    pickle_.member("stream", action.stream);
    pickle_.member("time_us", record.time.picoseconds() / 1'000'000);
    write_frames(op);
    if (block || action.kind == AllocatorActionKind::alloc) {
      pickle_.member("category", memory_kind_name(allocation(op).kind));
    }
    pickle_.end_dict();
    if (action.kind == AllocatorActionKind::free_completed) live_.erase(action.address);
  }

  std::pair<std::int64_t, std::uint32_t> holder(std::uint64_t address, std::int64_t bytes,
                                                std::uint32_t op) const {
    const auto found = live_.find(address);
    if (found == live_.end()) return {bytes, op};
    return {found->second.requested, found->second.op};
  }

  const cuda::AllocationSpec& allocation(std::uint32_t op) const {
    return program_.allocations[program_.ops[op].name];
  }

  /// One frame: for an allocation its name and what it is for. Equal frames are written once.
  void write_frames(std::uint32_t op) {
    pickle_.value("frames");
    if (program_.ops[op].code != cuda::OpCode::allocate) {
      pickle_.begin_list();
      pickle_.end_list();
      return;
    }
    const auto found = frames_.find(op);
    if (found != frames_.end()) {
      pickle_.recall(found->second);
      return;
    }
    pickle_.begin_list();
    pickle_.begin_dict();
    const std::string operation = operation_after(program_, op);
    pickle_.member("filename", operation.empty() ? "between steps" : operation);
    pickle_.member("line", op);
    pickle_.member("name", program_.names[allocation(op).name]);
    pickle_.end_dict();
    frames_[op] = pickle_.end_list_and_remember();
  }

  /// A segment; an expandable one as PyTorch shows it, each mapped range by itself.
  void write_segment(const cuda::SegmentSnapshot& segment) {
    auto from = segment.blocks.begin();
    while (from != segment.blocks.end()) {
      const auto unmapped = [](const cuda::BlockSnapshot& block) {
        return block.state == BlockState::unmapped;
      };
      from = std::find_if_not(from, segment.blocks.end(), unmapped);
      const auto to = std::find_if(from, segment.blocks.end(), unmapped);
      if (from != to) write_range(segment, {from, to});
      from = to;
    }
  }

  void write_range(const cuda::SegmentSnapshot& segment,
                   std::span<const cuda::BlockSnapshot> blocks) {
    std::int64_t total = 0;
    std::int64_t allocated = 0;
    std::int64_t active = 0;
    std::int64_t requested = 0;
    for (const cuda::BlockSnapshot& block : blocks) {
      total += block.bytes.count;
      if (block.state == BlockState::cached) continue;
      active += block.bytes.count;
      requested += holder(block.address, block.bytes.count, 0).first;
      if (block.state == BlockState::allocated) allocated += block.bytes.count;
    }
    pickle_.begin_dict();
    pickle_.member("device", 0);
    pickle_.member("address", blocks.front().address);
    pickle_.member("total_size", total);
    pickle_.member("allocated_size", allocated);
    pickle_.member("active_size", active);
    pickle_.member("requested_size", requested);
    pickle_.member("stream", segment.stream);
    pickle_.member("segment_type", segment.pool == cuda::MemoryPool::small ? "small" : "large");
    pickle_.value("segment_pool_id");
    pickle_.begin_tuple();
    pickle_.value(0);
    pickle_.value(0);
    pickle_.end_tuple();
    pickle_.member("is_expandable", segment.expandable);
    pickle_.value("frames");
    pickle_.begin_list();
    pickle_.end_list();
    pickle_.value("blocks");
    pickle_.begin_list();
    for (const cuda::BlockSnapshot& block : blocks) write_block(block);
    pickle_.end_list();
    pickle_.end_dict();
  }

  void write_block(const cuda::BlockSnapshot& block) {
    const auto found = live_.find(block.address);
    const bool active = block.state != BlockState::cached && found != live_.end();
    pickle_.begin_dict();
    pickle_.member("address", block.address);
    pickle_.member("size", block.bytes.count);
    pickle_.member("requested_size", active ? found->second.requested : 0);
    pickle_.member("state", state_name(block.state));
    if (active) {
      write_frames(found->second.op);
    } else {
      pickle_.value("frames");
      pickle_.begin_list();
      pickle_.end_list();
    }
    pickle_.end_dict();
  }

  void write_settings() {
    const cuda::AllocatorSpec& spec = trace_.spec;
    pickle_.value("allocator_settings");
    pickle_.begin_dict();
    pickle_.member("expandable_segments", spec.expandable_segments);
    pickle_.member("max_split_size",
                   spec.max_split_size ? spec.max_split_size->count : std::int64_t{-1});
    pickle_.member("garbage_collection_threshold", spec.garbage_collection_threshold
                                                       ? spec.garbage_collection_threshold->value
                                                       : 0.0);
    pickle_.end_dict();
  }

  PickleWriter pickle_;
  const AllocatorTrace& trace_;
  const cuda::Program& program_;
  std::map<std::uint64_t, Live> live_;
  std::map<std::uint32_t, PickleWriter::MemoId> frames_;  ///< by the allocation's op
};

}  // namespace

void write_memory_snapshot(std::ostream& out, const AllocatorTrace& trace) {
  SnapshotWriter(out, trace).write();
}

}  // namespace shardsim::scenario
