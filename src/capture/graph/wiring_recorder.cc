#include "capture/graph/wiring_recorder.h"

#include <algorithm>
#include <utility>

#include "capture/operator_table.h"

namespace opdump::capture {
namespace {

// The hash of makers that differ from run to run of one step.
constexpr std::uint64_t kAmbiguous = 0;

// What an operator replaces without reading it, although it is among its inputs.
bool is_overwritten(const Operand& input) {
  return input.undumped == "out= argument" || input.undumped == "only written to";
}

std::uint64_t add_to_hash(std::uint64_t hash, std::uint64_t number) {
  hash = (hash ^ number) * 0x9E3779B97F4A7C15u;
  return hash ^ hash >> 29;
}

// What lies `distance` bytes behind the first of a maker's elements, each of which has so many bytes.
std::optional<dump::CallWiring::View> describe_view(const model::TensorView& view, std::int64_t distance,
                                                    std::int64_t element_bytes) {
  const bool is_alike = model::dtype_info(view.dtype).bits == element_bytes * 8;
  if (!is_alike || distance < 0 || distance % element_bytes != 0) return std::nullopt;
  const auto strides = view.strides.dims();
  return dump::CallWiring::View{distance / element_bytes, {strides.begin(), strides.end()}};
}

// Whether the key is that of a block, not of contents: see place_of().
bool has_blocks(std::uint64_t key) { return (key & 1) == 0; }

}  // namespace

// What it writes over is gone.
void WiringRecorder::Block::add_write(Mark mark) {
  std::erase_if(marks, [&](const Mark& old) { return contains(mark.where, old.where); });
  marks.push_back(std::move(mark));
  trim();
}

// A view that is there already keeps its maker: detach() makes nothing.
void WiringRecorder::Block::add_view(Mark mark) {
  for (auto old = marks.rbegin(); old != marks.rend(); ++old) {
    if (old->where.view == mark.where.view) return;
    if (old->is_write && overlap(old->where, mark.where)) break;
  }
  marks.push_back(std::move(mark));
  trim();
}

void WiringRecorder::Block::trim() {
  if (marks.size() <= kMaxMarks) return;
  marks.erase(marks.begin(), marks.begin() + kMaxMarks / 4);
  is_outside = false;
}

// Blocks and contents are numbered by themselves. The number of contents of an engine without blocks is that
// of a block too, in which addresses are places.
WiringRecorder::Place WiringRecorder::place_of(const Operand& operand) {
  if (operand.block != 0)
    return {operand.block << 1, operand.version != 0 ? operand.version : operand.content,
            operand.block_offset};
  if (operand.content == 0 || operand.view.data == nullptr) return {};
  return {operand.content << 1 | 1, operand.content, reinterpret_cast<std::intptr_t>(operand.view.data)};
}

std::optional<dump::CallWiring> WiringRecorder::begin(WiringCall& call, std::span<const Operand> inputs) {
  const std::lock_guard lock(mutex_);
  enter_step(call.step);
  if (inputs.empty()) return std::nullopt;
  for (const Operand& input : inputs) {
    const Place place = place_of(input);
    if (place.key != 0) call.blocks.push_back({place.key, place.version});
    settle(place);
  }
  std::ranges::sort(call.blocks);
  origins_.clear();
  for (const Operand& input : inputs) {
    Origin origin = find(call, input);
    origin.is_overwritten = is_overwritten(input);
    if (origin.maker != nullptr || (origin.is_known() && !origin.is_overwritten)) origins_.push_back(origin);
  }
  const DefinedOperator& op = *call.op;
  const std::uint64_t found = hash(origins_, call.step);
  if (!op.selected.load(std::memory_order_relaxed)) return std::nullopt;
  // An operator that runs twice in a step, with other makers: a line cannot say of which run it is.
  const bool is_again = std::exchange(op.wiring_step, call.step) == call.step;
  if (op.last_wiring == found || (is_again && op.last_wiring == kAmbiguous)) return std::nullopt;
  op.last_wiring = is_again ? kAmbiguous : found;
  return is_again ? dump::CallWiring() : describe(origins_, call.step);
}

void WiringRecorder::end(const WiringCall& call, std::span<const Operand> outputs) {
  const std::lock_guard lock(mutex_);
  if (blocks_.size() >= kMaxBlocks) evict_half();
  // After an operator has returned, others may have written to memory that is not guarded by its contents.
  for (const Operand& output : outputs)
    if (!call.has_returned || output.content != 0) note(call, output);
}

std::size_t WiringRecorder::block_count() const {
  const std::lock_guard lock(mutex_);
  return blocks_.size();
}

void WiringRecorder::enter_step(std::int64_t step) {
  if (std::exchange(step_, step) != step) {
    values_.clear();
    step_before_began_ = std::exchange(step_began_, uses_);
    if (blocks_.size() > kMaxIdle) evict(step_before_began_);
  }
  if (blocks_.size() >= kMaxBlocks) evict_half();
}

// The blocks that are left were used last.
void WiringRecorder::evict_half() {
  std::vector<std::uint64_t> uses;
  for (const auto& [key, block] : blocks_) uses.push_back(block.last_use);
  const auto middle = uses.begin() + static_cast<std::ptrdiff_t>(uses.size() / 2);
  std::ranges::nth_element(uses, middle);
  evict(*middle);
}

void WiringRecorder::evict(std::uint64_t unused_since) {
  std::erase_if(blocks_, [&](const auto& entry) {
    if (entry.second.last_use > unused_since) return false;
    if (has_blocks(entry.first)) last_evicted_ = std::max(last_evicted_, entry.first);
    return true;
  });
}

// Sees the contents of a block before a call reads them.
void WiringRecorder::settle(const Place& place) {
  if (place.version == 0) return;
  const auto [known, is_new] =
      has_blocks(place.key) ? blocks_.try_emplace(place.key) : std::pair(blocks_.find(place.key), false);
  if (known == blocks_.end()) return;
  Block& block = known->second;
  block.last_use = ++uses_;
  if (is_new)
    block.is_outside = !was_evicted(place.key);
  else if (block.version != place.version)
    block.forget();
  block.version = place.version;
}

WiringRecorder::Origin WiringRecorder::find(const WiringCall& call, const Operand& input) const {
  Origin origin{.index = input.index, .operand = &input};
  const bool has_value = input.block == 0 && input.value != 0;
  if (has_value) {
    const auto known = values_.find({call.op->op.graph_id, input.value});
    if (known != values_.end()) return origin.maker = &known->second, origin;
  }
  const Place place = place_of(input);
  const auto block = place.version != 0 ? blocks_.find(place.key) : blocks_.end();
  origin.offset = place.offset;
  if (block != blocks_.end())
    find_in_block(block->second, make_footprint(place.key, place.offset, input.view), origin);
  else
    origin.is_outside = has_value;
  return origin;
}

void WiringRecorder::find_in_block(const Block& block, const Footprint& where, Origin& origin) {
  for (auto mark = block.marks.rbegin(); mark != block.marks.rend(); ++mark) {
    const bool is_same = mark->where.view == where.view;
    if (is_same || (mark->is_write && contains(mark->where, where))) {
      if (mark->is_uninitialised) return;  // somebody unseen wrote there
      origin.maker = &*mark;
      origin.is_view = !is_same;
      return;
    }
    if (!mark->is_write || !overlap(mark->where, where)) continue;
    if (origin.change_count < origin.changes.size()) origin.changes[origin.change_count++] = &*mark;
  }
  origin.is_outside = block.is_outside;
}

std::uint64_t WiringRecorder::hash(std::span<const Origin> origins, std::int64_t step) {
  std::uint64_t hash = origins.size() + 1;
  const auto add = [&](const Mark* mark) {
    hash = add_to_hash(hash, reinterpret_cast<std::uintptr_t>(mark ? mark->op : nullptr));
    if (mark) hash = add_to_hash(hash, static_cast<std::uint64_t>(step - mark->step) << 32 | mark->output);
  };
  for (const Origin& origin : origins) {
    hash = add_to_hash(hash, std::uint64_t{origin.index} << 3 | (origin.is_overwritten ? 4 : 0) |
                                 (origin.is_outside ? 2 : 0) | (origin.is_view ? 1 : 0));
    add(origin.maker);
    for (std::size_t i = 0; i < origin.change_count; ++i) add(origin.changes[i]);
    if (!origin.is_view || !origin.maker) continue;
    hash = add_to_hash(hash, static_cast<std::uint64_t>(origin.offset - origin.maker->offset));
    for (const std::int64_t stride : origin.operand->view.strides.dims())
      hash = add_to_hash(hash, static_cast<std::uint64_t>(stride));
  }
  return hash == kAmbiguous ? hash + 1 : hash;
}

dump::CallWiring::Maker WiringRecorder::describe(const Mark& mark, std::int64_t step) {
  return {.name = mark.op->op.name, .output = mark.output, .steps_before = step - mark.step};
}

dump::CallWiring WiringRecorder::describe(std::span<const Origin> origins, std::int64_t step) {
  dump::CallWiring wiring;
  for (const Origin& origin : origins) {
    dump::CallWiring::Input& input = wiring.inputs.emplace_back();
    input.index = origin.index;
    input.is_outside = origin.is_outside;
    input.is_overwritten = origin.is_overwritten;
    input.is_view = origin.is_view;
    if (origin.maker) {
      input.maker = describe(*origin.maker, step);
      if (origin.is_view && origin.maker->is_row_major)
        input.view = describe_view(origin.operand->view, origin.offset - origin.maker->offset,
                                   origin.maker->where.element_bytes);
    }
    for (std::size_t i = 0; i < origin.change_count; ++i)
      input.changed_by.push_back(describe(*origin.changes[i], step));
  }
  return wiring;
}

void WiringRecorder::note(const WiringCall& call, const Operand& output) {
  Mark mark{.op = call.op, .output = output.index, .step = call.step};
  if (output.block == 0 && output.value != 0)  // what has the value already keeps its maker
    values_.try_emplace({call.op->op.graph_id, output.value}, mark);
  const Place place = place_of(output);
  if (place.key == 0) return;
  const auto read = std::ranges::lower_bound(call.blocks, place.key, {}, &WiringCall::Block::key);
  const bool was_read = read != call.blocks.end() && read->key == place.key;
  const std::uint64_t version_before = was_read ? read->version : 0;  // 0: nobody saw what it had
  mark.is_write = output.undumped != "view" && place.version != version_before;
  const auto [known, is_new] = blocks_.try_emplace(place.key);
  Block& block = known->second;
  block.last_use = ++uses_;
  const bool is_expected = block.version == place.version || (mark.is_write && version_before != 0);
  if (is_new)
    block.is_outside = has_blocks(place.key) && place.version != 0 && !was_evicted(place.key);
  else if (place.version == 0 || !is_expected)
    block.forget();
  block.version = place.version;
  if (place.version == 0) return;
  mark.offset = place.offset;
  mark.where = make_footprint(place.key, place.offset, output.view);
  mark.is_row_major = output.view.strides == model::row_major_strides(output.view.shape);
  mark.is_uninitialised = output.undumped == "uninitialised";
  if (mark.is_write)
    block.add_write(std::move(mark));
  else
    block.add_view(std::move(mark));
}

}  // namespace opdump::capture
