// The executions in a dump, of which there may be very many: each is kept packed, beyond some megabytes in
// files that the system may put on the disk (base/scratch.h), and taken out when somebody asks for it.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/record_sorter.h"
#include "base/result.h"
#include "base/scratch.h"
#include "base/scratch_vector.h"
#include "dump/operator_log.h"
#include "dump/read/operator_run.h"
#include "dump/read/slot_packer.h"

namespace opdump::dump {

class Runs;

// Where a slot without data is kept: by what slots are ordered, and its place in Runs.
struct UndumpedPlace {
  std::uint64_t slot = 0, at = 0;
  auto operator<=>(const UndumpedPlace&) const = default;  // NOLINT(modernize-use-nullptr): not a pointer
};

// The slots of an execution, of which there may be very many: each is unpacked when its turn comes. To be
// gone through once, by next() or as `for (const Slot& slot : runs.slots(index))`.
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
  // Null behind the last one. Stays until the next call.
  Slot* next();

 private:
  friend class Runs;
  RunSlots(const Runs& runs, std::size_t index);
  void begin_part();
  void unpack_next();

  const Runs& runs_;
  std::string_view directory_;
  Unpacker in_;                          // of the part
  std::uint64_t left_ = 0, next_part_;   // slots in the part; where the part behind it is
  Slot slot_;                            // whose turn it is
  std::optional<Slot> stored_;           // the next one that is not only in the log
  std::vector<UndumpedPlace> undumped_;  // the next one last
};

class Runs {
 public:
  // What executions that were recorded together have in common.
  struct Section {
    std::uint32_t rank = 0;
    std::int64_t graph_id = 0, step = 0;
  };

  // Takes them one after the other: what it gives is its own.
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

  std::size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  OperatorRun operator[](std::size_t index) const;
  // The same without its slots, which takes less time.
  OperatorRun without_slots(std::size_t index) const;
  RunSlots slots(std::size_t index) const { return {*this, index}; }
  // How many it has at most: the log may know some of them, too.
  std::uint64_t slot_count(std::size_t index) const;
  const Section& section_of(std::size_t index) const { return section(entries_[index].section); }
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size()}; }

  std::uint32_t section_count() const { return static_cast<std::uint32_t>(sections_.size()); }
  const Section& section(std::uint32_t number) const { return sections_[number].place; }
  // Whether a log says of any which operator it is.
  bool have_operators() const { return has_operators_; }
  std::uint64_t stored_bytes() const { return stored_bytes_; }  // of all tensors

  // ---- For who reads a dump.

  // Of executions whose files are, all or most of them, in `directory`. Returns its number. Errors: io --
  // there is no room.
  Result<std::uint32_t> add_section(const Section& section, std::string_view directory = {},
                                    std::string_view model = {});
  Section& section(std::uint32_t number) { return sections_[number].place; }
  // Puts "{model}/" in front of the names from now on.
  void tell_model(std::uint32_t section) {
    sections_[section].tells_model = sections_[section].model.size > 0;
  }
  // Rank, graph, step and operator of `run` are not looked at: the section and set_operator tell them. Behind
  // one that has more slots it is a further part of it. Errors: io -- there is no room.
  Result<> add(std::uint32_t section, const OperatorRun& run);
  // Operators in the order of a log. Returns its number. Errors: io -- there is no room.
  Result<std::uint32_t> add_operator(const LoggedOperator& op);
  std::uint32_t last_operator() const { return static_cast<std::uint32_t>(operators_.size()); }
  // With a number that add_operator has returned.
  LoggedOperator operator_of(std::uint32_t number) const;
  void set_operator(std::size_t index, std::uint32_t number) {
    entries_[index].op = number;
    has_operators_ = has_operators_ || number != 0;
  }
  // A slot that the executions of an operator have, too, from the step on in which it was seen, unless they
  // have data for it. Errors: io -- there is no room.
  Result<> add_undumped(std::uint32_t number, const UndumpedSlot& slot);
  // By rank, step and graph; then by time; operators of one microsecond, and those without data, as the log
  // has them. To be called once, when all is known. Errors: io.
  Result<> sort();

 private:
  friend class RunSlots;
  struct Entry {
    std::uint64_t at = 0;    // of its bytes: see Block
    std::uint64_t time = 0;  // the first of its slots
    std::uint32_t section = 0, op = 0;
  };
  static constexpr std::uint64_t kNowhere = UINT64_MAX;
  struct Text {  // in the blocks
    std::uint64_t at = 0, size = 0;
  };
  struct Block {
    std::uint64_t start = 0;
    Scratch memory;
  };
  struct StoredSection {
    Section place;
    Text directory, model;
    bool tells_model = false;
  };
  struct Part {  // of the slots of an execution
    std::uint64_t slots = 0, next = kNowhere;
  };
  struct KeptOperator {
    std::uint64_t at = 0;
    std::uint64_t undumped =
        kNowhere;  // the last slot that was added; each is behind the place of the one before
    std::uint64_t undumped_count = 0;
  };
  Result<std::uint64_t> store(std::string_view bytes);
  std::span<std::byte> bytes_from(std::uint64_t at) const;
  std::string_view stored_from(std::uint64_t at) const;
  Result<Text> store_text(std::string_view text);
  std::string_view text(Text text) const {
    return text.size == 0 ? std::string_view() : stored_from(text.at).substr(0, text.size);
  }
  OperatorRun unpack_head(const Entry& entry, Unpacker& in) const;
  static Part unpack_part(Unpacker& in);
  std::vector<UndumpedPlace> undumped_of(const Entry& entry) const;
  Slot undumped_at(std::uint64_t at) const;
  Result<ScratchVector<std::uint32_t>> number_steps() const;
  Result<> find_times(RecordSorter& by_time) const;

  ScratchVector<Entry> entries_;
  bool has_operators_ = false;
  ScratchVector<StoredSection> sections_;
  ScratchVector<KeptOperator> operators_;  // the first has the number 1: 0 is none
  SlotPacker packer_;
  std::vector<Block> blocks_;  // in order of their starts
  std::uint64_t used_ = 0;     // of the last block
  std::uint64_t stored_bytes_ = 0;
  std::uint64_t next_part_ = kNowhere;  // where the place of the next part is to be written
  std::string packed_;                  // kept for its memory
};

}  // namespace opdump::dump
