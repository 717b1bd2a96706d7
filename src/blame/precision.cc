#include "blame/precision.h"

#include <tuple>

#include "base/text/text.h"

namespace opdump::blame {

void SumPrecision::Sums::note(const std::vector<OutputError>& outputs) {
  for (const OutputError& output : outputs) {
    if (!output.is_sum) continue;
    if (!output.precision.empty())
      ++less[output.precision];
    else
      full += output.r > 0 && find_excess({output}).factor <= 1;
  }
}

void SumPrecision::note(const Replayed& replayed) {
  for (Sums* sums : {&golden_, &actual_}) sums->full += replayed.is_sum;
  golden_.note(replayed.golden);
  actual_.note(replayed.actual);
}

void SumPrecision::settle(BlameAnswer& answer) const {
  constexpr std::uint64_t kFew = 3;  // sums that may all be wrong
  for (const auto& [sums, run_cause, name] : {std::tuple(&golden_, Cause::golden_at_fault, "golden"),
                                              std::tuple(&actual_, Cause::own_error, "actual")}) {
    const bool is_usual = sums->less.size() == 1 && sums->less.begin()->second >= kFew && sums->full == 0;
    const auto is_this = [cause = run_cause](const Finding& f) {
      return f.cause == cause && f.error && !f.error->precision.empty();
    };
    if (!is_usual) {
      for (Finding& f : answer.findings)
        if (is_this(f) && find_excess({*f.error}).is_certain) f.confidence = Confidence::certain;
    } else if (std::erase_if(answer.findings, is_this) > 0) {
      const auto& [precision, count] = *sums->less.begin();
      answer.notes.push_back(precision.ends_with("sums")
                                 ? std::string(name) + " has " + precision + " in " +
                                       counted(count, "operator") + ", all that add up products"
                                 : std::string(name) + " rounds the inputs of " + counted(count, "operator") +
                                       ", all that add up products, to " + precision);
    }
  }
}

}  // namespace opdump::blame
