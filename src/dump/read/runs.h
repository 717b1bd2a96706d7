// The index of a dump: its executions, with the slots of each, in memory. Names are kept once; an execution
// is a row of 48 bytes, a slot one of 64 (dump/read/slot_store.h). An OperatorRun or a Slot is made when
// somebody asks for it.
//
//   section 0: rank 0, graph 0, step 0        operator 1: "Default/conv1/convolution-op0", from the log
//   execution 0: section 0, operator 1, slots 0 1 2
//   execution 1: section 0, operator 0 (the log does not know it), slots 3
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/packing.h"
#include "base/text/text_arena.h"
#include "dump/operator_log.h"
#include "dump/read/operator_run.h"
#include "dump/read/slot_store.h"

namespace opdump::dump {

class Runs;

// The slots of an execution, each made when its turn comes. Go through them once, by next() or as `for (const
// Slot& slot : runs.slots(index))`.
class RunSlots {
 public:
  class Iterator {
   public:
    explicit Iterator(RunSlots* slots) : slots_(slots), slot_(slots->next()) {}
    Slot& operator*() const { return *slot_; }
    Iterator& operator++() { return slot_ = slots_->next(), *this; }
    bool operator==(std::default_sentinel_t) const { return slot_ == nullptr; }

   private:
    RunSlots* slots_;
    Slot* slot_;
  };
  Iterator begin() { return Iterator(this); }
  std::default_sentinel_t end() const { return {}; }
  // Returns null behind the last one. The value stays until the next call.
  Slot* next();

 private:
  friend class Runs;
  RunSlots(const Runs& runs, std::size_t index);

  const Runs& runs_;
  std::size_t next_, end_;               // in Runs::slot_numbers_
  std::vector<std::uint32_t> undumped_;  // in Runs::undumped_; the next one last
  Slot slot_;                            // whose turn it is
};

class Runs {
 public:
  // What executions that were recorded together have in common.
  struct Section {
    std::uint32_t rank = 0;
    std::int64_t graph_id = 0, step = 0;
  };

  // What it gives is its own.
  class Iterator {
   public:
    using value_type = OperatorRun;
    using difference_type = std::ptrdiff_t;
    Iterator() = default;
    Iterator(const Runs* runs, std::size_t index) : runs_(runs), index_(index) {}
    OperatorRun operator*() const { return (*runs_)[index_]; }
    Iterator& operator++() { return ++index_, *this; }
    Iterator operator++(int) { return {runs_, index_++}; }
    bool operator==(const Iterator& other) const { return index_ == other.index_; }

   private:
    const Runs* runs_ = nullptr;
    std::size_t index_ = 0;
  };

  std::size_t size() const { return executions_.size(); }
  bool empty() const { return executions_.empty(); }
  OperatorRun operator[](std::size_t index) const;
  // All that the log says of its operator, in the order of steps: first where it was called first.
  std::vector<LoggedOperator> operators_of(std::size_t index) const;
  // What the log says of the calls of its operator, in the order of steps; `name` and graph are left empty.
  std::vector<LoggedForm> calls_of(std::size_t index) const;
  // The same without its slots, which takes less time.
  OperatorRun without_slots(std::size_t index) const;
  RunSlots slots(std::size_t index) const { return {*this, index}; }
  // How many it has at most: the log may know some of them, too.
  std::uint64_t slot_count(std::size_t index) const;
  const Section& section_of(std::size_t index) const { return section(executions_[index].section); }
  // When the first of its tensors was written, in microseconds; nothing if the dump does not say.
  std::optional<std::uint64_t> time_of(std::size_t index) const {
    const std::uint64_t time = executions_[index].time;
    return time == kNoTime ? std::nullopt : std::optional(time);
  }
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size()}; }

  std::uint32_t section_count() const { return static_cast<std::uint32_t>(sections_.size()); }
  const Section& section(std::uint32_t number) const { return sections_[number].where; }
  // Whether a log says of any which operator it is.
  bool have_operators() const { return has_operators_; }
  // Whether the scopes of operators are as our adapters have them: LoggedOperator::has_full_scope.
  bool have_full_scopes() const { return has_full_scopes_; }
  // What the execution `index` executed; null if no log says so.
  std::shared_ptr<const CallForm> form_of(std::size_t index) const { return form_of(executions_[index]); }
  // Which parts of tensors the execution `index` has; nothing if no log says so.
  std::optional<CallLayout> layout_of(std::size_t index) const;
  bool have_layouts() const { return !layouts_.empty(); }
  // All that the log says of the parts of its operator, in the order of steps; without name and graph.
  std::vector<LoggedLayout> layouts_of(std::size_t index) const;
  // Who made what the execution `index` read; null if no log says so.
  std::shared_ptr<const CallWiring> wiring_of(std::size_t index) const;
  // The same of its operator in another step, in which the operator need not be listed.
  std::shared_ptr<const CallWiring> wiring_in_step(std::size_t index, std::int64_t step) const;
  bool have_wirings() const { return !wirings_.empty(); }
  // All that the log says of the makers of what its operator read, as it says it; without name and graph.
  std::vector<LoggedWiring> wirings_of(std::size_t index) const;
  // The number of the operator of the execution `index`, which makers have too; 0 if no log knows it.
  std::uint32_t operator_number(std::size_t index) const { return executions_[index].op; }
  // Whether a log has state of the engine for any call.
  bool have_call_state() const { return has_call_state_; }
  std::uint64_t stored_bytes() const;  // of all tensors

  // ---- For the reader of a dump.

  // Adds the section of executions that were found together. Returns its number.
  std::uint32_t add_section(const Section& section, std::string_view model = {});
  Section& section(std::uint32_t number) { return sections_[number].where; }
  // Puts "{model}/" in front of the names from now on.
  void show_model(std::uint32_t section) {
    sections_[section].shows_model = !sections_[section].model.empty();
  }
  SlotStore& store() { return store_; }
  // Slots are numbers in store(). Rank, graph, step, operator and slots of `run` do not count.
  void add(std::uint32_t section, const OperatorRun& run, std::span<const std::uint32_t> slots);
  // Operators in the order of a log. Returns its number, which is at least 1.
  std::uint32_t add_operator(const LoggedOperator& op);
  std::uint32_t last_operator() const { return static_cast<std::uint32_t>(operators_.size()); }
  // The line from which the program calls an operator from a step on.
  void add_source(std::uint32_t number, const LoggedOperator& op);
  // `number` is one that add_operator has returned.
  LoggedOperator operator_of(std::uint32_t number) const;
  void set_operator(std::size_t index, std::uint32_t number) {
    executions_[index].op = number;
    has_operators_ = has_operators_ || number != 0;
  }
  // A slot that the executions of an operator have, too, from the step on in which it was seen, unless they
  // have data for it.
  void add_undumped(std::uint32_t number, const UndumpedSlot& slot);
  // What the executions of an operator were from a step on; what it says again is not kept.
  void add_call(std::uint32_t number, const LoggedForm& call);
  void add_layout(std::uint32_t number, const LoggedLayout& layout);
  void add_wiring(std::uint32_t number, const LoggedWiring& logged);
  // Sorts by rank and step, then by time, whatever the graph. Operators of one microsecond, and those without
  // data, are as the log has them, those without time and log by graph. Call it once, when all is known.
  void sort();

 private:
  friend class RunSlots;
  friend class LaterRuns;
  static constexpr std::uint32_t kNone = UINT32_MAX;
  static constexpr std::uint64_t kNoTime = UINT64_MAX;
  struct Execution {
    std::uint64_t time = 0;  // the first of its slots
    std::uint64_t task = 0;
    std::int64_t stream = 0;
    std::uint32_t section = 0, op = 0;
    std::uint32_t type = 0, name = 0;              // in names_
    std::uint32_t first_slot = 0, slot_count = 0;  // in slot_numbers_
  };
  struct StoredSection {
    Section where;
    std::string_view model;  // in names_
    bool shows_model = false;
  };
  struct StoredOperator {
    std::int64_t graph_id = 0, stream = 0;
    std::uint64_t task = 0;
    std::uint32_t type = 0, name = 0, source_file = 0, module = 0;  // in names_
    std::uint32_t stack = kNone, original_names = kNone;            // in names_, packed
    std::uint32_t last_undumped = kNone, undumped_count = 0;        // in undumped_
    std::uint32_t last_call = kNone, last_layout = kNone;           // in calls_, layouts_
    std::uint32_t last_wiring = kNone, last_source = kNone;         // in wirings_, sources_
    std::int32_t source_line = 0;
    model::Phase phase = model::Phase::forward;
  };
  struct Undumped {
    std::int64_t step = 0;
    std::uint32_t slot = 0;          // in store_
    std::uint32_t previous = kNone;  // of the operator
  };
  struct StoredSource {
    std::int64_t step = 0;
    std::uint32_t file = 0, stack = kNone;  // in names_, the calls packed
    std::int32_t line = 0;
    std::uint32_t previous = kNone;  // of the operator
  };
  struct StoredCall {
    std::int64_t step = 0;
    std::uint32_t function = 0, arguments = 0, state = 0;  // in names_
    std::uint32_t previous = kNone;                        // of the operator
    // `next` says nothing that this one does not.
    bool is_until(const StoredCall& next) const {
      return step <= next.step && function == next.function && arguments == next.arguments &&
             state == next.state;
    }
  };
  struct StoredLayout {
    std::int64_t step = 0;
    std::uint32_t line = 0;          // in names_, without name and step
    std::uint32_t previous = kNone;  // of the operator
  };
  struct StoredWiring {
    std::int64_t step = 0;
    ArenaText inputs = nullptr;      // in wiring_texts_, packed
    std::uint32_t previous = kNone;  // of the operator
  };
  CallLayout make_layout(const StoredLayout& stored) const;
  void set_source(const StoredSource& stored, LoggedOperator& op) const;
  void pack(const CallWiring::Maker& maker, std::string& bytes);
  CallWiring::Maker unpack_maker(Unpacker& in) const;
  CallWiring make_wiring(const StoredWiring& stored) const;
  CallForm make_form(const StoredCall& call) const;
  std::shared_ptr<const CallForm> form_of(const Execution& execution) const;
  std::vector<std::uint32_t> undumped_of(const Execution& execution) const;
  std::vector<std::uint32_t> number_steps() const;
  std::uint32_t find_logged_wiring(const Execution& execution) const;
  struct Moment {
    std::uint64_t time = 0;
    bool is_before = false;  // just before what is of that time
  };
  void move_to_readers(const std::vector<std::uint32_t>& step_of, std::vector<Moment>& times) const;
  std::vector<Moment> find_times(const std::vector<std::uint32_t>& step_of) const;
  void order_workers(std::vector<std::uint32_t>& order, const std::vector<std::uint32_t>& step_of) const;

  std::vector<Execution> executions_;
  std::deque<std::uint32_t> slot_numbers_;  // of all executions, in store_
  std::vector<StoredSection> sections_;
  std::vector<StoredOperator> operators_;  // the first has the number 1: 0 is none
  std::vector<Undumped> undumped_;
  std::vector<StoredCall> calls_;
  std::vector<StoredLayout> layouts_;
  std::vector<StoredSource> sources_;
  std::vector<StoredWiring> wirings_;
  TextArena wiring_texts_;  // hardly any two are alike
  bool has_call_state_ = false;
  SlotStore store_;
  InternedTexts names_;
  bool has_operators_ = false, has_full_scopes_ = true;
};

// As long as it is there, the executions between the first step and `step` are not seen: for those who know
// that these do not matter. The sections stay.
class LaterRuns {
 public:
  LaterRuns(Runs& runs, std::int64_t step);
  ~LaterRuns() { runs_.executions_.swap(all_); }
  LaterRuns(const LaterRuns&) = delete;
  LaterRuns& operator=(const LaterRuns&) = delete;

 private:
  Runs& runs_;
  std::vector<Runs::Execution> all_;
};

}  // namespace opdump::dump
