// What operators leave open, for people.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compare/comparison.h"
#include "dump/read/dump_set.h"

namespace opdump::compare {

class OpenQuestions {
 public:
  // The problems of the dumps are reported already, and with them the slots that they concern.
  OpenQuestions(const dump::DumpSet& golden, const dump::DumpSet& actual);

  // Of an operator that is judged.
  void add(const OperatorComparison& op);

  // "rank 0: steps 1-11 are only in actual"; pairs that are perhaps none; slots that cannot be read by name,
  // inputs that only one side recorded by number -- a whole dump may be without inputs.
  void append_to(std::vector<std::string>& reasons) const;

  // What is left out and leaves nothing open.
  void append_notes_to(std::vector<Note>& notes) const;

 private:
  bool is_reported(const dump::Slot* slot) const {
    return slot != nullptr && reported_.contains(slot->undumped_reason);
  }
  std::set<std::string_view> reported_;
  std::map<std::pair<std::uint32_t, bool>, std::set<std::int64_t>> absent_steps_;  // by rank, is in golden
  std::vector<std::string> unreadable_;
  std::string first_uncertain_;  // "Default/mul-op0 = Mul_3"
  std::string first_number_;     // "Default/_local_scalar_dense-op0 (input.0 is 2 in golden and 3 in actual)"
  std::uint64_t uncertain_ = 0, numbers_ = 0, more_unreadable_ = 0, only_golden_ = 0, only_actual_ = 0,
                ahead_ = 0;
};

}  // namespace opdump::compare
