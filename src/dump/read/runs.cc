#include "dump/read/runs.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "base/resident.h"
#include "dump/file_name.h"

namespace opdump::dump {
namespace {

constexpr std::uint64_t kBlockBytes = 4 << 20;
constexpr std::uint64_t kNoTime = UINT64_MAX;

// In the order of slots.
std::uint64_t place_of(const Slot& slot) { return static_cast<std::uint64_t>(slot.side) << 32 | slot.index; }

std::uint64_t first_timestamp(const OperatorRun& run) {
  std::uint64_t first = kNoTime;
  for (const Slot& slot : run.slots)
    if (slot.timestamp_us != 0) first = std::min(first, slot.timestamp_us);
  return first;
}

void pack(const LoggedOperator& op, std::string& bytes) {
  Packer out(bytes);
  out.text(op.type);
  out.text(op.name);
  out.number(static_cast<std::uint64_t>(op.phase));
  out.signed_number(op.graph_id);
  out.signed_number(op.stream);
  out.text(op.source_file);
  out.signed_number(op.source_line);
  out.number(op.task);
  out.number(op.original_names ? 1 + op.original_names->size() : 0);
  if (op.original_names)
    for (const std::string& name : *op.original_names) out.text(name);
  out.number(op.stack.size());
  for (const model::Frame& frame : op.stack) {
    out.text(frame.file);
    out.signed_number(frame.line);
    out.text(frame.function);
  }
}

// Of an execution: what stands before its slots.
void skip_head(Unpacker& in) {
  in.text();
  in.text();
  in.number();
  in.signed_number();
}

LoggedOperator unpack_operator(std::string_view bytes) {
  Unpacker in(bytes);
  LoggedOperator op;
  op.type = in.text();
  op.name = in.text();
  op.phase = static_cast<model::Phase>(in.number());
  op.graph_id = in.signed_number();
  op.stream = in.signed_number();
  op.source_file = in.text();
  op.source_line = static_cast<int>(in.signed_number());
  op.task = in.number();
  const std::uint64_t names = in.number();
  if (names > 0) op.original_names.emplace();
  for (std::uint64_t i = 1; i < names; ++i) op.original_names->emplace_back(in.text());
  op.stack.resize(in.number());
  for (model::Frame& frame : op.stack) {
    frame.file = in.text();
    frame.line = static_cast<int>(in.signed_number());
    frame.function = in.text();
  }
  return op;
}

}  // namespace

Result<std::uint32_t> Runs::add_section(const Section& section, std::string_view directory,
                                        std::string_view model) {
  StoredSection stored;
  if (!sections_.empty()) stored = sections_[sections_.size() - 1];  // mostly has the same texts
  for (const auto& [place, value] :
       {std::pair(&stored.directory, directory), std::pair(&stored.model, model)})
    if (text(*place) != value) {
      OPDUMP_TRY(*place, store_text(value));
    }
  stored.place = section;
  stored.tells_model = false;
  OPDUMP_CHECK_OK(sections_.push_back(stored));
  return section_count() - 1;
}

Result<std::uint32_t> Runs::add_operator(const LoggedOperator& op) {
  packed_.clear();
  pack(op, packed_);
  OPDUMP_TRY(const std::uint64_t at, store(packed_));
  OPDUMP_CHECK_OK(operators_.push_back({at}));
  return last_operator();
}

LoggedOperator Runs::operator_of(std::uint32_t number) const {
  return unpack_operator(stored_from(operators_[number - 1].at));
}

Result<> Runs::add_undumped(std::uint32_t number, const UndumpedSlot& slot) {
  KeptOperator& op = operators_[number - 1];
  packed_.clear();
  Packer out(packed_);
  out.object(op.undumped);
  out.signed_number(slot.step);
  out.number(static_cast<std::uint64_t>(slot.side));
  out.number(slot.index);
  out.number(static_cast<std::uint64_t>(slot.dtype));
  out.number(slot.shape.rank());
  for (const std::int64_t dim : slot.shape.dims()) out.signed_number(dim);
  out.text(slot.reason);
  OPDUMP_TRY(op.undumped, store(packed_));
  ++op.undumped_count;
  return ok();
}

// Those that an execution has unless it has data for them, the first last. The log names a slot once, at the
// first step it was seen: it has no data in later steps either.
std::vector<UndumpedPlace> Runs::undumped_of(const Entry& entry) const {
  std::vector<UndumpedPlace> slots;
  if (entry.op == 0) return slots;
  const std::int64_t step = sections_[entry.section].place.step;
  for (std::uint64_t at = operators_[entry.op - 1].undumped, next = 0; at != kNowhere; at = next) {
    Unpacker in(stored_from(at));
    next = in.object<std::uint64_t>();
    if (step < in.signed_number()) continue;
    const std::uint64_t side = in.number();
    slots.push_back({side << 32 | in.number(), at});
  }
  std::ranges::sort(slots);  // what was added first lies in front
  const auto have_one_place = [](const UndumpedPlace& a, const UndumpedPlace& b) { return a.slot == b.slot; };
  slots.erase(std::unique(slots.begin(), slots.end(), have_one_place), slots.end());
  std::ranges::reverse(slots);
  return slots;
}

Slot Runs::undumped_at(std::uint64_t at) const {
  Unpacker in(stored_from(at));
  in.object<std::uint64_t>();
  in.signed_number();
  Slot slot;
  slot.side = static_cast<model::Side>(in.number());
  slot.index = static_cast<std::uint32_t>(in.number());
  slot.dtype = static_cast<model::DType>(in.number());
  std::vector<std::int64_t> dims(in.number());
  for (std::int64_t& dim : dims) dim = in.signed_number();
  slot.shape = model::Shape(dims);
  slot.undumped_reason = in.text();
  return slot;
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
std::span<std::byte> Runs::bytes_from(std::uint64_t at) const {
  const auto next = std::ranges::upper_bound(blocks_, at, {}, &Block::start);
  const auto bytes = std::prev(next)->memory.bytes().subspan(at - std::prev(next)->start);
  if (std::prev(next)->memory.is_mapped()) note_touch(bytes.data());
  return bytes;
}

std::string_view Runs::stored_from(std::uint64_t at) const {
  const auto bytes = bytes_from(at);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Result<Runs::Text> Runs::store_text(std::string_view text) {
  if (text.empty()) return Text();
  OPDUMP_TRY(const std::uint64_t at, store(text));
  return Text{at, text.size()};
}

Result<> Runs::add(std::uint32_t section, const OperatorRun& run) {
  const std::uint64_t told_at = std::exchange(next_part_, kNowhere);  // of a part; nowhere: it is a new one
  packed_.clear();
  Packer out(packed_);
  if (told_at == kNowhere) {
    out.text(run.type);
    out.text(run.name);
    out.number(run.task);
    out.signed_number(run.stream);
  }
  out.number(run.slots.size() * 2 + (run.has_more ? 1 : 0));
  const std::uint64_t next_in_packed = packed_.size();
  if (run.has_more) out.object(kNowhere);
  const std::string_view directory = text(sections_[section].directory);
  for (const Slot& slot : run.slots) {
    packer_.pack(packed_, slot, directory);
    stored_bytes_ += slot.stored_bytes();
  }
  OPDUMP_TRY(const std::uint64_t at, store(packed_));
  if (run.has_more) next_part_ = at + next_in_packed;
  if (told_at == kNowhere) return entries_.push_back({at, first_timestamp(run), section, 0});
  std::memcpy(bytes_from(told_at).data(), &at, sizeof at);
  std::uint64_t& time = entries_[entries_.size() - 1].time;
  time = std::min(time, first_timestamp(run));
  return ok();
}

Runs::Part Runs::unpack_part(Unpacker& in) {
  const std::uint64_t told = in.number();
  return {told / 2, told % 2 == 1 ? in.object<std::uint64_t>() : kNowhere};
}

OperatorRun Runs::unpack_head(const Entry& entry, Unpacker& in) const {
  const StoredSection& section = sections_[entry.section];
  OperatorRun run;
  run.rank = section.place.rank;
  run.graph_id = section.place.graph_id;
  run.step = section.place.step;
  if (entry.op != 0) run.op = std::make_shared<const LoggedOperator>(operator_of(entry.op));
  run.type = in.text();
  if (section.tells_model) run.name = std::string(text(section.model)) + "/";
  run.name += in.text();
  run.task = in.number();
  run.stream = in.signed_number();
  if (run.type.empty() && run.op != nullptr) {  // a converted dump, whose names may be cut
    run.type = file_type(*run.op);
    run.name = file_op_name(*run.op);
  }
  return run;
}

OperatorRun Runs::without_slots(std::size_t index) const {
  const std::string_view bytes = stored_from(entries_[index].at);
  Unpacker in(bytes);
  return unpack_head(entries_[index], in);
}

OperatorRun Runs::operator[](std::size_t index) const {
  OperatorRun run = without_slots(index);
  for (Slot& slot : slots(index)) run.slots.push_back(std::move(slot));
  return run;
}

std::uint64_t Runs::slot_count(std::size_t index) const {
  const Entry& entry = entries_[index];
  Unpacker in(stored_from(entry.at));
  skip_head(in);
  Part part = unpack_part(in);
  std::uint64_t count = part.slots + (entry.op != 0 ? operators_[entry.op - 1].undumped_count : 0);
  while (part.next != kNowhere) {
    Unpacker next(stored_from(part.next));
    part = unpack_part(next);
    count += part.slots;
  }
  return count;
}

RunSlots::RunSlots(const Runs& runs, std::size_t index)
    : runs_(runs), in_(runs.stored_from(runs.entries_[index].at)) {
  const Runs::Entry& entry = runs.entries_[index];
  directory_ = runs.text(runs.sections_[entry.section].directory);
  undumped_ = runs.undumped_of(entry);
  skip_head(in_);
  begin_part();
  unpack_next();
}

void RunSlots::begin_part() {
  const Runs::Part part = Runs::unpack_part(in_);
  left_ = part.slots;
  next_part_ = part.next;
}

void RunSlots::unpack_next() {
  stored_.reset();
  while (left_ == 0 && next_part_ != Runs::kNowhere) {
    in_ = Unpacker(runs_.stored_from(next_part_));
    begin_part();
  }
  if (left_ == 0) return;
  --left_;
  stored_ = runs_.packer_.unpack(in_, directory_);
}

Slot* RunSlots::next() {
  if (undumped_.empty() && !stored_) return nullptr;
  if (!undumped_.empty() && (!stored_ || undumped_.back().slot < place_of(*stored_))) {
    slot_ = runs_.undumped_at(undumped_.back().at);
    undumped_.pop_back();
  } else {
    if (!undumped_.empty() && undumped_.back().slot == place_of(*stored_)) undumped_.pop_back();
    slot_ = std::move(*stored_);
    unpack_next();
  }
  return &slot_;
}

// Of each section: which step of a graph it belongs to, counted in their order.
Result<ScratchVector<std::uint32_t>> Runs::number_steps() const {
  RecordSorter by_step;
  std::string record;
  for (std::uint32_t i = 0; i < section_count(); ++i) {
    const Section& section = this->section(i);
    record.clear();
    SortKey(record)
        .number(section.rank)
        .signed_number(section.step)
        .signed_number(section.graph_id)
        .number(i);
    by_step.add(record);
  }
  ScratchVector<std::uint32_t> numbers;
  OPDUMP_CHECK_OK(numbers.resize(section_count(), 0));
  std::uint32_t count = 0;
  std::string last;
  OPDUMP_CHECK_OK(by_step.visit([&](std::string_view section) {
    const std::size_t step_bytes = section.size() - sizeof(std::uint64_t);
    if (section.substr(0, step_bytes) != last) {
      last = section.substr(0, step_bytes);
      ++count;
    }
    numbers[SortKeyReader(section.substr(step_bytes)).number()] = count;
    return ok();
  }));
  return numbers;
}

// Puts all entries, by the place that is theirs, into `by_time`. An operator without a time ran just before
// the next one of the log that has one.
Result<> Runs::find_times(RecordSorter& by_time) const {
  OPDUMP_TRY(const ScratchVector<std::uint32_t> step_of, number_steps());
  const auto log_order = [](const Entry& entry) { return entry.op == 0 ? UINT32_MAX : entry.op; };
  RecordSorter by_log;  // of each step the last of the log first
  std::string record;
  for (std::size_t i = 0; i < size(); ++i) {
    record.clear();
    SortKey(record)
        .number(step_of[entries_[i].section])
        .number(~std::uint64_t{log_order(entries_[i])})
        .number(i);
    by_log.add(record);
  }
  std::uint64_t step = UINT64_MAX;
  std::uint32_t op = 0;                             // its place in the log
  std::uint64_t op_time = kNoTime, next = kNoTime;  // of `op`, and of what follows it
  return by_log.visit([&](std::string_view logged) {
    SortKeyReader in(logged);
    const std::uint64_t of_step = in.number();
    in.number();
    const std::uint64_t i = in.number();
    const Entry& entry = entries_[i];
    const std::uint32_t last_op = std::exchange(op, log_order(entry));
    if (of_step != std::exchange(step, of_step))
      op_time = next = kNoTime;
    else if (op != last_op && op_time != kNoTime)
      next = std::exchange(op_time, kNoTime);
    if (entry.op != 0 && op_time == kNoTime) op_time = entry.time;
    record.clear();
    SortKey key(record);
    key.number(step).number(entry.time == kNoTime ? next : entry.time).number(op).number(i);
    by_time.add(record);
    return ok();
  });
}

Result<> Runs::sort() {
  RecordSorter by_time;
  OPDUMP_CHECK_OK(find_times(by_time));
  ScratchVector<Entry> sorted;
  OPDUMP_CHECK_OK(by_time.visit([&](std::string_view record) {
    SortKeyReader in(record);
    for (int skipped = 0; skipped < 3; ++skipped) in.number();
    return sorted.push_back(entries_[in.number()]);
  }));
  entries_ = std::move(sorted);
  return ok();
}

}  // namespace opdump::dump
