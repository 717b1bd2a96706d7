#include "dump/read/runs.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/text/packing.h"
#include "dump/file_name.h"
#include "dump/loader_worker.h"

namespace opdump::dump {
namespace {

// Equal stacks, of which a program has few, are equal texts.
std::string pack_stack(const std::vector<model::Frame>& stack) {
  std::string bytes;
  Packer out(bytes);
  for (const model::Frame& frame : stack) {
    out.text(frame.file);
    out.signed_number(frame.line);
    out.text(frame.function);
  }
  return bytes;
}

std::vector<model::Frame> unpack_stack(std::string_view bytes) {
  std::vector<model::Frame> stack;
  for (Unpacker in(bytes); !in.is_empty();) {
    model::Frame& frame = stack.emplace_back();
    frame.file = in.text();
    frame.line = static_cast<int>(in.signed_number());
    frame.function = in.text();
  }
  return stack;
}

}  // namespace

LaterRuns::LaterRuns(Runs& runs, std::int64_t step) : runs_(runs) {
  std::map<std::uint32_t, std::int64_t> first;  // of each rank
  for (const Runs::StoredSection& section : runs.sections_) {
    const auto place = first.emplace(section.where.rank, section.where.step).first;
    place->second = std::min(place->second, section.where.step);
  }
  std::ranges::copy_if(runs.executions_, std::back_inserter(all_), [&](const Runs::Execution& execution) {
    const Runs::Section& section = runs.sections_[execution.section].where;
    return section.step >= step || section.step == first.at(section.rank);
  });
  runs_.executions_.swap(all_);
}

std::uint32_t Runs::add_section(const Section& section, std::string_view model) {
  sections_.push_back({section, model.empty() ? model : names_[names_.add(model)]});
  return section_count() - 1;
}

void Runs::add(std::uint32_t section, const OperatorRun& run, std::span<const std::uint32_t> slots) {
  Execution& execution = executions_.emplace_back();
  execution.time = kNoTime;
  for (const std::uint32_t slot : slots)
    if (const std::uint64_t time = store_.timestamp_us(slot); time != 0)
      execution.time = std::min(execution.time, time);
  execution.task = run.task;
  execution.stream = run.stream;
  execution.section = section;
  execution.type = names_.add(run.type);
  execution.name = names_.add(run.name);
  execution.first_slot = static_cast<std::uint32_t>(slot_numbers_.size());
  execution.slot_count = static_cast<std::uint32_t>(slots.size());
  slot_numbers_.insert(slot_numbers_.end(), slots.begin(), slots.end());
}

std::uint32_t Runs::add_operator(const LoggedOperator& op) {
  StoredOperator& stored = operators_.emplace_back();
  stored.type = names_.add(op.type);
  stored.name = names_.add(op.name);
  stored.phase = op.phase;
  stored.graph_id = op.graph_id;
  stored.stream = op.stream;
  stored.source_file = names_.add(op.source_file);
  stored.source_line = op.source_line;
  stored.module = names_.add(op.module);
  stored.task = op.task;
  if (op.original_names) stored.original_names = names_.add(PackedTexts(*op.original_names).bytes());
  if (!op.stack.empty()) stored.stack = names_.add(pack_stack(op.stack));
  has_full_scopes_ = has_full_scopes_ && op.has_full_scope;
  return last_operator();
}

LoggedOperator Runs::operator_of(std::uint32_t number) const {
  const StoredOperator& stored = operators_[number - 1];
  LoggedOperator op;
  op.type = names_[stored.type];
  op.name = names_[stored.name];
  op.phase = stored.phase;
  op.graph_id = stored.graph_id;
  op.stream = stored.stream;
  op.source_file = names_[stored.source_file];
  op.source_line = stored.source_line;
  op.module = names_[stored.module];
  op.task = stored.task;
  if (stored.original_names != kNone)
    op.original_names = PackedTexts::of_bytes(std::string(names_[stored.original_names])).texts();
  if (stored.stack != kNone) op.stack = unpack_stack(names_[stored.stack]);
  op.has_full_scope = has_full_scopes_;
  return op;
}

void Runs::add_source(std::uint32_t number, const LoggedOperator& op) {
  StoredOperator& stored = operators_[number - 1];
  sources_.push_back({.step = op.since.value_or(0),
                      .file = names_.add(op.source_file),
                      .stack = op.stack.empty() ? kNone : names_.add(pack_stack(op.stack)),
                      .line = op.source_line,
                      .previous = stored.last_source});
  stored.last_source = static_cast<std::uint32_t>(sources_.size() - 1);
}

void Runs::set_source(const StoredSource& stored, LoggedOperator& op) const {
  op.source_file = names_[stored.file];
  op.source_line = stored.line;
  op.stack = stored.stack == kNone ? std::vector<model::Frame>() : unpack_stack(names_[stored.stack]);
}

std::vector<LoggedOperator> Runs::operators_of(std::size_t index) const {
  std::vector<LoggedOperator> operators;
  if (executions_[index].op == 0) return operators;
  const LoggedOperator first = operator_of(executions_[index].op);
  for (std::uint32_t i = operators_[executions_[index].op - 1].last_source; i != kNone;
       i = sources_[i].previous) {
    LoggedOperator& op = operators.emplace_back(first);
    set_source(sources_[i], op);
    op.since = sources_[i].step;
  }
  operators.push_back(first);
  std::ranges::reverse(operators);
  return operators;
}

void Runs::add_undumped(std::uint32_t number, const UndumpedSlot& undumped) {
  Slot slot;
  slot.side = undumped.side;
  slot.index = undumped.index;
  slot.dtype = undumped.dtype;
  slot.shape = undumped.shape;
  slot.undumped_reason = undumped.reason;
  StoredOperator& op = operators_[number - 1];
  undumped_.push_back({undumped.step, store_.add(slot), op.last_undumped});
  op.last_undumped = static_cast<std::uint32_t>(undumped_.size() - 1);
  ++op.undumped_count;
}

void Runs::add_call(std::uint32_t number, const LoggedForm& call) {
  StoredOperator& op = operators_[number - 1];
  const StoredCall stored{call.step, names_.add(call.form.function), names_.add(call.form.arguments),
                          names_.add(call.form.state), op.last_call};
  if (op.last_call != kNone && calls_[op.last_call].is_until(stored)) return;
  calls_.push_back(stored);
  op.last_call = static_cast<std::uint32_t>(calls_.size() - 1);
  has_call_state_ = has_call_state_ || !call.form.state.empty();
}

std::vector<LoggedForm> Runs::calls_of(std::size_t index) const {
  std::vector<LoggedForm> calls;
  if (executions_[index].op == 0) return calls;
  for (std::uint32_t i = operators_[executions_[index].op - 1].last_call; i != kNone; i = calls_[i].previous)
    calls.push_back({.operator_name = {}, .step = calls_[i].step, .form = make_form(calls_[i])});
  std::ranges::reverse(calls);
  return calls;
}

CallForm Runs::make_form(const StoredCall& call) const {
  return {std::string(names_[call.function]), std::string(names_[call.arguments]),
          std::string(names_[call.state])};
}

std::shared_ptr<const CallForm> Runs::form_of(const Execution& execution) const {
  if (execution.op == 0) return nullptr;
  const std::int64_t step = sections_[execution.section].where.step;
  for (std::uint32_t i = operators_[execution.op - 1].last_call; i != kNone; i = calls_[i].previous)
    if (calls_[i].step <= step) return std::make_shared<const CallForm>(make_form(calls_[i]));
  return nullptr;
}

// Few parts are unlike: most lines are the same text but for the operator and the step.
void Runs::add_layout(std::uint32_t number, const LoggedLayout& layout) {
  StoredOperator& op = operators_[number - 1];
  const std::string line = format_log_line(LoggedLayout{.operator_name = {}, .layout = layout.layout});
  layouts_.push_back({layout.step, names_.add(line), op.last_layout});
  op.last_layout = static_cast<std::uint32_t>(layouts_.size() - 1);
}

CallLayout Runs::make_layout(const StoredLayout& stored) const {
  LogLine line = decode_log_line(names_[stored.line]);
  auto* const logged = std::get_if<LoggedLayout>(&line);
  return logged != nullptr ? std::move(logged->layout) : CallLayout();
}

std::optional<CallLayout> Runs::layout_of(std::size_t index) const {
  const Execution& execution = executions_[index];
  if (execution.op == 0) return std::nullopt;
  const std::int64_t step = sections_[execution.section].where.step;
  for (std::uint32_t i = operators_[execution.op - 1].last_layout; i != kNone; i = layouts_[i].previous)
    if (layouts_[i].step <= step) return make_layout(layouts_[i]);
  return std::nullopt;
}

std::vector<LoggedLayout> Runs::layouts_of(std::size_t index) const {
  std::vector<LoggedLayout> layouts;
  if (executions_[index].op == 0) return layouts;
  for (std::uint32_t i = operators_[executions_[index].op - 1].last_layout; i != kNone;
       i = layouts_[i].previous)
    layouts.push_back({.operator_name = {}, .step = layouts_[i].step, .layout = make_layout(layouts_[i])});
  std::ranges::reverse(layouts);
  return layouts;
}

// Packs a maker by the number of its operator, or by its name if the log does not have it.
void Runs::pack(const CallWiring::Maker& maker, std::string& bytes) {
  Packer out(bytes);
  out.number(maker.number);
  if (maker.number == 0) out.number(names_.add(maker.name));
  out.number(maker.output);
  out.signed_number(maker.steps_before);
}

CallWiring::Maker Runs::unpack_maker(Unpacker& in) const {
  CallWiring::Maker maker;
  maker.number = static_cast<std::uint32_t>(in.number());
  maker.name =
      names_[maker.number == 0 ? static_cast<std::uint32_t>(in.number()) : operators_[maker.number - 1].name];
  maker.output = static_cast<std::uint32_t>(in.number());
  maker.steps_before = in.signed_number();
  return maker;
}

void Runs::add_wiring(std::uint32_t number, const LoggedWiring& logged) {
  std::string bytes;
  Packer out(bytes);
  for (const CallWiring::Input& input : logged.wiring.inputs) {
    out.number(input.index);
    out.number(std::uint64_t{input.maker.has_value()} | (input.is_outside ? 2U : 0U) |
               (input.is_view ? 4U : 0U) | (input.view ? 8U : 0U) | (input.is_overwritten ? 16U : 0U) |
               input.changed_by.size() << 5);
    if (input.maker) pack(*input.maker, bytes);
    for (const CallWiring::Maker& maker : input.changed_by) pack(maker, bytes);
    if (!input.view) continue;
    out.signed_number(input.view->offset);
    out.number(input.view->strides.size());
    for (const std::int64_t stride : input.view->strides) out.signed_number(stride);
  }
  StoredOperator& op = operators_[number - 1];
  wirings_.push_back({logged.step, wiring_texts_.add(bytes), op.last_wiring});
  op.last_wiring = static_cast<std::uint32_t>(wirings_.size() - 1);
}

CallWiring Runs::make_wiring(const StoredWiring& stored) const {
  CallWiring wiring;
  for (Unpacker in(TextArena::view(stored.inputs)); !in.is_empty();) {
    CallWiring::Input& input = wiring.inputs.emplace_back();
    input.index = static_cast<std::uint32_t>(in.number());
    const std::uint64_t flags = in.number();
    input.is_outside = (flags & 2) != 0;
    input.is_view = (flags & 4) != 0;
    input.is_overwritten = (flags & 16) != 0;
    if ((flags & 1) != 0) input.maker = unpack_maker(in);
    for (std::uint64_t i = 0; i < flags >> 5; ++i) input.changed_by.push_back(unpack_maker(in));
    if ((flags & 8) == 0) continue;
    input.view.emplace().offset = in.signed_number();
    input.view->strides.resize(in.number());
    for (std::int64_t& stride : input.view->strides) stride = in.signed_number();
  }
  return wiring;
}

std::shared_ptr<const CallWiring> Runs::wiring_of(std::size_t index) const {
  return wiring_in_step(index, sections_[executions_[index].section].where.step);
}

// The last line of the latest step that is not after this one: a folder may have several recordings.
std::shared_ptr<const CallWiring> Runs::wiring_in_step(std::size_t index, std::int64_t step) const {
  const Execution& execution = executions_[index];
  if (execution.op == 0) return nullptr;
  const StoredWiring* found = nullptr;
  for (std::uint32_t i = operators_[execution.op - 1].last_wiring; i != kNone; i = wirings_[i].previous)
    if (wirings_[i].step <= step && (found == nullptr || wirings_[i].step > found->step))
      found = &wirings_[i];
  return found == nullptr ? nullptr : std::make_shared<const CallWiring>(make_wiring(*found));
}

std::vector<LoggedWiring> Runs::wirings_of(std::size_t index) const {
  std::vector<LoggedWiring> wirings;
  if (executions_[index].op == 0) return wirings;
  for (std::uint32_t i = operators_[executions_[index].op - 1].last_wiring; i != kNone;
       i = wirings_[i].previous)
    wirings.push_back({.operator_name = {}, .step = wirings_[i].step, .wiring = make_wiring(wirings_[i])});
  std::ranges::reverse(wirings);
  return wirings;
}

// Slots that an execution has unless it has data for them, the first last. The log names a slot once, at the
// first step it was seen: it has no data in later steps either.
std::vector<std::uint32_t> Runs::undumped_of(const Execution& execution) const {
  std::vector<std::uint32_t> found;
  if (execution.op == 0) return found;
  const std::int64_t step = sections_[execution.section].where.step;
  for (std::uint32_t i = operators_[execution.op - 1].last_undumped; i != kNone; i = undumped_[i].previous)
    if (step >= undumped_[i].step) found.push_back(i);
  const auto place = [&](std::uint32_t i) { return store_.place(undumped_[i].slot); };
  std::ranges::sort(found, {}, [&](std::uint32_t i) { return std::pair(place(i), i); });
  // What was added first stays. Not std::ranges::unique, which clang 14 cannot compile with GCC's library.
  found.erase(std::unique(found.begin(), found.end(),
                          [&](std::uint32_t a, std::uint32_t b) { return place(a) == place(b); }),
              found.end());
  std::ranges::reverse(found);
  return found;
}

OperatorRun Runs::without_slots(std::size_t index) const {
  const Execution& execution = executions_[index];
  const StoredSection& section = sections_[execution.section];
  OperatorRun run;
  run.rank = section.where.rank;
  run.graph_id = section.where.graph_id;
  run.step = section.where.step;
  if (execution.op != 0) {
    auto op = std::make_shared<LoggedOperator>(operator_of(execution.op));
    for (std::uint32_t i = operators_[execution.op - 1].last_source; i != kNone; i = sources_[i].previous)
      if (sources_[i].step <= run.step) {
        set_source(sources_[i], *op);
        break;
      }
    run.op = std::move(op);
  }
  run.type = names_[execution.type];
  if (section.shows_model) run.name.append(section.model).push_back('/');
  run.name += names_[execution.name];
  run.task = execution.task;
  run.stream = execution.stream;
  if (run.type.empty() && run.op != nullptr) {  // a converted dump, whose names may be cut
    run.type = file_type(*run.op);
    run.name = file_op_name(*run.op);
  }
  return run;
}

OperatorRun Runs::operator[](std::size_t index) const {
  OperatorRun run = without_slots(index);
  run.form = form_of(executions_[index]);
  run.wiring = wiring_of(index);
  run.slots.reserve(slot_count(index));
  for (Slot& slot : slots(index)) run.slots.push_back(std::move(slot));
  return run;
}

std::uint64_t Runs::slot_count(std::size_t index) const {
  const Execution& execution = executions_[index];
  const std::uint32_t undumped = execution.op != 0 ? operators_[execution.op - 1].undumped_count : 0;
  return std::uint64_t{execution.slot_count} + undumped;
}

std::uint64_t Runs::stored_bytes() const {
  std::uint64_t bytes = 0;
  for (const std::uint32_t slot : slot_numbers_) bytes += store_.stored_bytes(slot);
  return bytes;
}

RunSlots::RunSlots(const Runs& runs, std::size_t index)
    : runs_(runs),
      next_(runs.executions_[index].first_slot),
      end_(next_ + runs.executions_[index].slot_count),
      undumped_(runs.undumped_of(runs.executions_[index])) {}

Slot* RunSlots::next() {
  if (undumped_.empty() && next_ == end_) return nullptr;
  const SlotStore& store = runs_.store_;
  std::uint32_t number = next_ < end_ ? runs_.slot_numbers_[next_] : 0;
  if (!undumped_.empty()) {
    const std::uint32_t undumped = runs_.undumped_[undumped_.back()].slot;
    const bool is_first = next_ == end_ || store.place(undumped) < store.place(number);
    if (is_first || store.place(undumped) == store.place(number)) undumped_.pop_back();
    if (is_first) return slot_ = store[undumped], &slot_;
  }
  ++next_;
  slot_ = store[number];
  return &slot_;
}

// Says which step of a rank each section belongs to, counted in the order of a dump. The graphs of a step are
// not in the order of their numbers: with control flow MindSpore runs 0, 3, 7, 3, 7, 3, 11.
std::vector<std::uint32_t> Runs::number_steps() const {
  const auto key = [](const Section& section) { return std::pair(section.rank, section.step); };
  std::map<std::pair<std::uint32_t, std::int64_t>, std::uint32_t> steps;
  for (const StoredSection& section : sections_) steps.try_emplace(key(section.where));
  std::uint32_t count = 0;
  for (auto& [step, number] : steps) number = count++;
  std::vector<std::uint32_t> numbers;
  for (const StoredSection& section : sections_) numbers.push_back(steps.at(key(section.where)));
  return numbers;
}

// Where the log says, in the step of an execution, what it reads: kNone if it does not say so again.
std::uint32_t Runs::find_logged_wiring(const Execution& execution) const {
  if (execution.op == 0) return kNone;
  const std::int64_t step = sections_[execution.section].where.step;
  std::uint32_t found = operators_[execution.op - 1].last_wiring;
  while (found != kNone && wirings_[found].step != step) found = wirings_[found].previous;
  return found;
}

// In a step in which the program takes another way, an operator without a time ran just before the next one
// of which the log says anew what it reads.
void Runs::move_to_readers(const std::vector<std::uint32_t>& step_of, std::vector<Moment>& times) const {
  using Line = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;  // step, rank and place in the log
  std::vector<std::pair<Line, std::uint64_t>> timed;
  std::vector<std::pair<Line, std::uint32_t>> untimed;
  for (std::uint32_t i = 0; i < size(); ++i) {
    const Execution& execution = executions_[i];
    const std::uint32_t logged = find_logged_wiring(execution);
    if (logged == kNone) continue;
    const Line line(step_of[execution.section], sections_[execution.section].where.rank, logged);
    if (execution.time == kNoTime)
      untimed.emplace_back(line, i);
    else
      timed.emplace_back(line, execution.time);
  }
  if (untimed.empty()) return;
  std::ranges::sort(timed);
  for (const auto& [line, i] : untimed) {
    const auto next = std::ranges::lower_bound(timed, line, {}, &std::pair<Line, std::uint64_t>::first);
    if (next != timed.end() && std::get<0>(next->first) == std::get<0>(line) &&
        std::get<1>(next->first) == std::get<1>(line))
      times[i] = {.time = next->second, .is_before = true};
  }
}

// When each execution began. An operator without a time ran just before the next one of the log that has one.
std::vector<Runs::Moment> Runs::find_times(const std::vector<std::uint32_t>& step_of) const {
  std::vector<Moment> times;
  for (const Execution& execution : executions_) times.push_back({.time = execution.time});
  std::vector<std::uint32_t> logged;  // of each step the last of the log first
  for (std::uint32_t i = 0; i < size(); ++i)
    if (executions_[i].op != 0) logged.push_back(i);
  const auto order = [&](std::uint32_t i) {
    return std::tuple(step_of[executions_[i].section], ~executions_[i].op, i);
  };
  std::ranges::sort(logged, {}, order);
  std::uint32_t step = kNone, op = 0;
  std::uint64_t op_time = kNoTime, next = kNoTime;  // of `op`, and of what follows it
  for (const std::uint32_t i : logged) {
    const Execution& execution = executions_[i];
    const std::uint32_t last_op = std::exchange(op, execution.op);
    const std::uint32_t of_step = step_of[execution.section];
    if (of_step != std::exchange(step, of_step))
      op_time = next = kNoTime;
    else if (op != last_op && op_time != kNoTime)
      next = std::exchange(op_time, kNoTime);
    if (op_time == kNoTime) op_time = execution.time;
    if (times[i].time == kNoTime) times[i].time = next;
  }
  move_to_readers(step_of, times);
  return times;
}

// The workers of a data loader run at once, and which of them is first is chance: in the places of `order`
// that their executions of a step have, those of the first worker come first.
void Runs::order_workers(std::vector<std::uint32_t>& order, const std::vector<std::uint32_t>& step_of) const {
  std::vector<std::string_view> workers(operators_.size() + 1);
  for (std::size_t op = 0; op < operators_.size(); ++op)
    workers[op + 1] = loader_worker(names_[operators_[op].name]);
  if (std::ranges::all_of(workers, &std::string_view::empty)) return;
  std::vector<std::size_t> places;
  for (std::size_t place = 0; place < order.size(); ++place)
    if (!workers[executions_[order[place]].op].empty()) places.push_back(place);
  std::vector<std::uint32_t> executions;
  for (const std::size_t place : places) executions.push_back(order[place]);
  std::ranges::stable_sort(executions, {}, [&](std::uint32_t i) {
    return std::pair(step_of[executions_[i].section], workers[executions_[i].op]);
  });
  for (std::size_t i = 0; i < places.size(); ++i) order[places[i]] = executions[i];
}

void Runs::sort() {
  const std::vector<std::uint32_t> step_of = number_steps();
  const std::vector<Moment> times = find_times(step_of);
  std::vector<std::uint32_t> order(size());
  std::iota(order.begin(), order.end(), 0);
  const auto key = [&](std::uint32_t i) {
    const Execution& execution = executions_[i];
    return std::tuple(step_of[execution.section], times[i].time, !times[i].is_before,
                      execution.op == 0 ? kNone : execution.op, sections_[execution.section].where.graph_id,
                      i);
  };
  std::ranges::sort(order, {}, key);
  order_workers(order, step_of);
  std::vector<Execution> sorted;
  sorted.reserve(size());
  for (const std::uint32_t i : order) sorted.push_back(executions_[i]);
  executions_ = std::move(sorted);
}

}  // namespace opdump::dump
