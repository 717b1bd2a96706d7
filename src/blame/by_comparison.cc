#include "blame/by_comparison.h"

#include "blame/differences.h"
#include "compare/facts/arguments.h"
#include "compare/facts/operator_kind.h"

namespace opdump::blame {
namespace {

Finding explain_first_bad(const compare::OperatorComparison& op) {
  Finding finding;
  finding.op = op;
  finding.confidence = Confidence::suspect;
  if (!is_paired(op)) {
    finding.cause = Cause::sequence;
    finding.why = op.cause;
  } else if (const auto difference = compare::find_argument_difference(*op.golden, *op.actual);
             difference && op.verdict != compare::Verdict::inherited) {  // else it may be that of a part
    finding.cause = Cause::argument;
    // A size may be that of a rank's own part.
    if (compare::kind_of(op.run().type).role != compare::OperatorRole::makes)
      finding.confidence = Confidence::certain;
    finding.why = difference->text;
  } else {
    finding.slot = output_name(op);
    finding.why = !op.cause.empty() ? op.cause
                  : op.verdict == compare::Verdict::own_error
                      ? "its outputs differ, and what it reads does not"
                      : "what it reads differs already";
  }
  return finding;
}

}  // namespace

Result<BlameAnswer> judge_by_comparison(const dump::DumpSet& golden, const dump::DumpSet& actual,
                                        const compare::CompareOptions& options,
                                        compare::Comparison& comparison) {
  OPDUMP_TRY(comparison, compare::compare_dumps(golden, actual, options));
  using compare::Verdict;
  const auto count = [&](Verdict verdict) { return comparison.verdicts[static_cast<std::size_t>(verdict)]; };
  BlameAnswer answer;
  answer.compared = comparison.coverage.paired_operators;
  answer.differing = count(Verdict::own_error) + count(Verdict::inherited) + count(Verdict::rounding);
  answer.incomplete = comparison.incomplete;
  answer.notes.emplace_back(
      "one run has more ranks than the other: no operator runs again, and this is what compare says");
  for (const compare::Note& note : comparison.notes) answer.notes.push_back(note.text);
  if (comparison.first_bad) answer.findings.push_back(explain_first_bad(*comparison.first_bad));
  answer.outcome = comparison.first_bad                          ? BlameOutcome::differs
                   : comparison.outcome != compare::Answer::same ? BlameOutcome::incomplete
                   : count(Verdict::rounding) > 0                ? BlameOutcome::rounding
                                                                 : BlameOutcome::same;
  return answer;
}

}  // namespace opdump::blame
