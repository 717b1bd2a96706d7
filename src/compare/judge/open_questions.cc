#include "compare/judge/open_questions.h"

#include <algorithm>
#include <iterator>

#include "base/text/text.h"
#include "compare/names.h"

namespace opdump::compare {

OpenQuestions::OpenQuestions(const dump::DumpSet& golden, const dump::DumpSet& actual) {
  for (const dump::DumpSet* dump : {&golden, &actual})
    for (const dump::Problem& problem : dump->problems()) reported_.insert(problem.what);
}

void OpenQuestions::add(const OperatorComparison& op) {
  if (op.is_alone && !op.is_before_other)
    absent_steps_[{op.run().rank, op.golden != nullptr}].insert(op.run().step);
  if (op.golden == nullptr || op.actual == nullptr) {
    ahead_ += !op.is_alone && runs_ahead(op.run());
    return;
  }
  if (op.verdict == Verdict::uncertain && !op.is_across && numbers_++ == 0)
    first_number_ = operator_name(*op.golden) + " (" + op.cause + ")";
  if (op.verdict == Verdict::uncertain && op.is_across && uncertain_++ == 0)
    first_uncertain_ = operator_name(*op.golden) + " = " + operator_name(*op.actual);
  for (const SlotComparison& slot : op.slots) {
    if (slot.verdict == Verdict::unreadable && !is_reported(slot.golden) && !is_reported(slot.actual)) {
      if (unreadable_.size() < dump::Problems::kKept)
        unreadable_.push_back(operator_name(*op.golden) + " " + slot_name(slot) + ": " + slot.reason);
      else
        ++more_unreadable_;
    }
    only_golden_ += slot.verdict == Verdict::missing && slot.golden->side == model::Side::input;
    only_actual_ += slot.verdict == Verdict::extra && slot.actual->side == model::Side::input;
  }
}

void OpenQuestions::append_to(std::vector<std::string>& reasons) const {
  for (const auto& [key, numbers] : absent_steps_) {
    const std::string ranges = format_ranges(numbers);
    reasons.push_back("rank " + std::to_string(key.first) + ": " +
                      inflect(numbers.size(), "step ", "steps ") + ranges +
                      inflect(numbers.size(), " is", " are") + " only in " +
                      (key.second ? "golden" : "actual") + ": left out");
  }
  if (uncertain_ > 0)
    reasons.push_back(counted(uncertain_, "uncertain pair", "differ") + ": " + first_uncertain_ +
                      inflect(uncertain_, "", ", ...") + "; --map declares which operators are the same");
  if (numbers_ > 0)
    reasons.push_back("the program gets " + counted(numbers_, "number") +
                      " from other operators in each run, and what it does with them is not recorded: " +
                      first_number_ + inflect(numbers_, "", ", ..."));
  std::ranges::move(unreadable_, std::back_inserter(reasons));
  if (more_unreadable_ > 0) reasons.push_back(counted(more_unreadable_, "more tensor") + " cannot be read");
  for (const auto& [count, side] : {std::pair(only_golden_, "golden"), std::pair(only_actual_, "actual")})
    if (count > 0) reasons.push_back(counted(count, "input", "are") + " only in " + side);
}

void OpenQuestions::append_notes_to(std::vector<Note>& notes) const {
  if (ahead_ == 0) return;
  notes.push_back({{},
                   counted(ahead_, "operator") + " of data-loading workers" + inflect(ahead_, " is", " are") +
                       " in one dump only: left out, because workers run ahead by a varying distance"});
}

}  // namespace opdump::compare
