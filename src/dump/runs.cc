#include "dump/runs.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/resident.h"

namespace opdump::dump {
namespace {

constexpr std::uint64_t kBlockBytes = 4 << 20;
constexpr std::uint64_t kNoTime = UINT64_MAX;

std::tuple<model::Side, std::uint32_t> place_of(const Slot& slot) { return {slot.side, slot.index}; }

std::uint64_t first_timestamp(const OperatorRun& run) {
  std::uint64_t first = kNoTime;
  for (const Slot& slot : run.slots)
    if (slot.timestamp_us != 0) first = std::min(first, slot.timestamp_us);
  return first;
}

// The log names a slot once, at the first step it was seen: it has no data in later steps either, unless they
// do have it.
void insert_undumped(OperatorRun& run, const UndumpedSlot& from) {
  const auto wanted = std::tuple(from.side, from.index);
  const auto place = std::ranges::lower_bound(run.slots, wanted, {}, place_of);
  if (run.step < from.step || (place != run.slots.end() && place_of(*place) == wanted)) return;
  Slot& slot = *run.slots.emplace(place);
  slot.side = from.side;
  slot.index = from.index;
  slot.dtype = from.dtype;
  slot.shape = from.shape;
  slot.undumped_reason = from.reason;
}

}  // namespace

std::uint32_t Runs::add_section(Section section) {
  sections_.push_back(std::move(section));
  return static_cast<std::uint32_t>(sections_.size() - 1);
}

std::uint32_t Runs::add_operator(const model::Operator& op) {
  operators_.push_back({&op, {}});
  return static_cast<std::uint32_t>(operators_.size() - 1);
}

void Runs::add_undumped(std::uint32_t number, const UndumpedSlot& slot) {
  operators_[number].undumped.push_back(&slot);
}

// Returns where it is from now on.
Result<std::uint64_t> Runs::store(std::string_view bytes) {
  if (blocks_.empty() || blocks_.back().memory.bytes().size() - used_ < bytes.size()) {
    OPDUMP_TRY(Scratch memory, Scratch::make(std::max<std::uint64_t>(kBlockBytes, bytes.size())));
    const std::uint64_t start =
        blocks_.empty() ? 0 : blocks_.back().start + blocks_.back().memory.bytes().size();
    blocks_.push_back({start, std::move(memory)});
    used_ = 0;
  }
  std::memcpy(blocks_.back().memory.data() + used_, bytes.data(), bytes.size());
  note_walk(bytes.size());
  return blocks_.back().start + std::exchange(used_, used_ + bytes.size());
}

// What lies at `at`, and all behind it.
std::string_view Runs::stored_from(std::uint64_t at) const {
  const auto next = std::ranges::upper_bound(blocks_, at, {}, &Block::start);
  const auto bytes = std::prev(next)->memory.bytes().subspan(at - std::prev(next)->start);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Result<> Runs::add(std::uint32_t section, const OperatorRun& run) {
  packed_.clear();
  Packer out(packed_);
  out.text(run.type);
  out.text(run.name);
  out.number(run.task);
  out.signed_number(run.stream);
  out.number(run.slots.size());
  for (const Slot& slot : run.slots) {
    packer_.pack(packed_, slot, sections_[section].directory);
    stored_bytes_ += slot.stored_bytes();
  }
  OPDUMP_TRY(const std::uint64_t at, store(packed_));
  entries_.push_back({at, section, 0});
  times_.push_back(first_timestamp(run));
  return ok();
}

OperatorRun Runs::unpack_head(const Entry& entry, Unpacker& in) const {
  const Section& section = sections_[entry.section];
  OperatorRun run;
  run.rank = section.rank;
  run.graph_id = section.graph_id;
  run.step = section.step;
  run.op = operators_[entry.op].op;
  run.type = in.text();
  if (!section.model.empty()) run.name = section.model + "/";
  run.name += in.text();
  run.task = in.number();
  run.stream = in.signed_number();
  return run;
}

OperatorRun Runs::without_slots(std::size_t index) const {
  const std::string_view bytes = stored_from(entries_[index].at);
  Unpacker in(bytes);
  OperatorRun run = unpack_head(entries_[index], in);
  note_walk(bytes.size() - in.left());
  return run;
}

OperatorRun Runs::operator[](std::size_t index) const {
  const Entry& entry = entries_[index];
  const std::string_view bytes = stored_from(entry.at);
  Unpacker in(bytes);
  OperatorRun run = unpack_head(entry, in);
  const std::vector<const UndumpedSlot*>& undumped = operators_[entry.op].undumped;
  const std::uint64_t count = in.number();
  run.slots.reserve(count + undumped.size());
  for (std::uint64_t i = 0; i < count; ++i)
    run.slots.push_back(packer_.unpack(in, sections_[entry.section].directory));
  for (const UndumpedSlot* slot : undumped) insert_undumped(run, *slot);
  note_walk(bytes.size() - in.left());
  return run;
}

// `order` is of one step of one graph, in the order in which they were read.
void Runs::sort_step(std::span<std::uint32_t> order) const {
  // An operator without a time ran just before the next one of the log that has one.
  const auto log_order = [&](std::uint32_t i) { return entries_[i].op == 0 ? UINT32_MAX : entries_[i].op; };
  std::map<std::uint32_t, std::uint64_t> logged;  // the first time of each operator, by its place in the log
  for (const std::uint32_t i : order)
    if (entries_[i].op != 0 && times_[i] != kNoTime) logged.try_emplace(log_order(i), times_[i]);
  const auto time = [&](std::uint32_t i) {
    if (times_[i] != kNoTime) return times_[i];
    const auto next = logged.upper_bound(log_order(i));
    return next == logged.end() ? kNoTime : next->second;
  };
  std::ranges::sort(order, {}, [&](std::uint32_t i) { return std::tuple(time(i), log_order(i), i); });
}

void Runs::sort() {
  std::vector<std::uint32_t> order(entries_.size());
  std::iota(order.begin(), order.end(), 0);
  const auto step_of = [&](std::uint32_t i) {
    const Section& section = section_of(i);
    return std::tuple(section.rank, section.step, section.graph_id);
  };
  std::ranges::sort(order, {}, [&](std::uint32_t i) { return std::pair(step_of(i), i); });
  for (std::size_t first = 0, last = 0; first < order.size(); first = last) {
    while (last < order.size() && step_of(order[last]) == step_of(order[first])) ++last;
    sort_step(std::span(order).subspan(first, last - first));
  }
  times_ = {};
  std::vector<Entry> sorted;
  sorted.reserve(order.size());
  for (const std::uint32_t i : order) sorted.push_back(entries_[i]);
  entries_ = std::move(sorted);
}

}  // namespace opdump::dump
