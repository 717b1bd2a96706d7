#include "cli/diff/judge.h"

#include <array>
#include <utility>

#include "base/text/json.h"
#include "base/text/text.h"
#include "compare/compare.h"
#include "compare/names.h"
#include "report/summary.h"
#include "terminal/progress.h"

namespace opdump::cli {
namespace {

constexpr std::string_view kNoSeed =
    "the program sets no seed: add torch.manual_seed(0), and random.seed(0) and numpy.random.seed(0) if it "
    "uses them";

// What a program did not seed begins with a number of the system, which is large.
constexpr std::uint64_t kLargestChosenSeed = 1ULL << 33;

std::string at(const Parting& parting) {
  return parting.op + (parting.source.empty() ? "" : " at " + parting.source);
}

std::string steps_text(std::int64_t first, std::int64_t last) {
  return first == last ? "step " + std::to_string(first)
                       : "steps " + std::to_string(first) + " to " + std::to_string(last);
}

// The first step that a dump has, -1 if it does not say.
std::int64_t first_step(const dump::DumpSet& dump) {
  return dump.runs().empty() ? -1 : dump.runs().section_of(0).step;
}

std::string seed_of(const std::string& state) {
  const auto json = parse_json(state);
  const auto seed = json.is_object() ? json.find("seed") : json.end();
  return json.is_object() && seed != json.end() && seed->is_string() ? seed->get<std::string>()
                                                                     : std::string();
}

// The two drew random numbers from generators that nobody seeded.
bool sets_no_seed(const Parting& parting) {
  if (!parting.is_random || !parting.same_inputs) return false;
  const auto first = parse_uint64(seed_of(parting.state)),
             second = parse_uint64(seed_of(parting.other_state));
  return first && second && *first != *second && *first > kLargestChosenSeed && *second > kLargestChosenSeed;
}

std::string what_differs(const Parting& parting) {
  if (parting.slot.empty())
    return parting.only_in_second ? "is in the second run only" : "is in the first run only";
  if (parting.other_step)
    return "reads another " + parting.slot + ": what it reads in the first run, " + parting.other_op +
           " reads in step " + std::to_string(*parting.other_step) + " of the second";
  if (!parting.same_inputs) return "reads another " + parting.slot + ", which no recorded operator made";
  if (!parting.arguments.empty()) return "has other arguments: " + parting.arguments;
  if (parting.is_random) return "draws other random numbers";
  return "makes another " + parting.slot + " of the same inputs";
}

std::string way_out(const Parting& parting) {
  if (sets_no_seed(parting)) return std::string(kNoSeed);
  if (!parting.arguments.empty())
    return "the program gives it another number: one that Python or NumPy drew without a seed (random.seed, "
           "numpy.random.seed, worker_init_fn), a time, or an order of sets or files (PYTHONHASHSEED)";
  if (parting.is_random) return "other random numbers were drawn before, or another seed was set";
  if (parting.slot.empty())
    return "the program takes another path: an order of sets or files, a time, or a seed of Python or NumPy "
           "(PYTHONHASHSEED, random.seed, numpy.random.seed)";
  if (parting.other_step && *parting.other_step == parting.step)
    return "the same operators run in another order: threads or processes that do not wait for one another. "
           "What adds up in another order is rounded otherwise";
  if (parting.other_step)
    return "the data comes in another order: that of workers that do not wait for one another, of a set or "
           "of files, or of a shuffle without a seed";
  if (!parting.same_inputs)
    return "the data differs: its order or augmentation (a seed of Python or NumPy, worker_init_fn, an order "
           "of sets or files, PYTHONHASHSEED), or memory that was never filled (torch.empty)";
  return "the kernel adds in another order each time, or another thread of the program writes to the tensor "
         "meanwhile: torch.use_deterministic_algorithms(True) chooses another kernel or names it, and "
         "torch.set_num_threads(1) keeps the order on a CPU";
}

std::string identical_text(const BitComparison& bits) {
  const std::string steps = counted(static_cast<std::uint64_t>(bits.steps), "step");
  return "identical to the last bit" + (bits.steps == 0 ? "" : " in " + steps) + ": " +
         counted(bits.tensors, "tensor") + " that operators read or made";
}

// "identical to the last bit in steps 0 to 136, and not in step 137"
std::string where_text(const Parting& parting, std::int64_t first) {
  const std::string from = "not in step " + std::to_string(parting.step);
  if (first < 0 || first >= parting.step)
    return "not identical from step " + std::to_string(parting.step) + " on";
  return "identical to the last bit in " + steps_text(first, parting.step - 1) + ", and " + from;
}

void note_place(DiffAnswer& answer, const Parting& parting) {
  answer.step = parting.step;
  answer.op = parting.op;
  answer.source = parting.source;
}

Result<compare::Comparison> compare_fingerprints(const dump::DumpSet& golden, const dump::DumpSet& actual) {
  const terminal::LiveLine line;
  return compare::compare_dumps(golden, actual, {});
}

Parting parting_of(const compare::OperatorComparison& op) {
  const dump::OperatorRun& run = op.run();
  Parting parting{.step = run.step, .rank = run.rank, .op = compare::operator_name(run), .type = run.type};
  if (run.op != nullptr && !run.op->source_file.empty())
    parting.source = run.op->source_file + ":" + std::to_string(run.op->source_line);
  return parting;
}

bool is_before(const Parting& first, const Parting& second) { return first.step < second.step; }

// Whether what A alone does explains where A and B part.
bool is_noise(const Parting& parting, const Noise& noise) {
  if (!noise.beyond) return false;
  return !is_before(parting, *noise.beyond) || parting.op == noise.beyond->op || parting.op == noise.bits.op;
}

DiffAnswer not_reproducible(const Parting& parting, std::string what) {
  DiffAnswer answer{.outcome = DiffOutcome::not_reproducible};
  answer.sentence = std::move(what);
  answer.notes.push_back(way_out(parting));
  note_place(answer, parting);
  return answer;
}

bool is_other_program(const compare::Comparison& comparison) {
  const auto& coverage = comparison.coverage;
  return 2 * coverage.paired_operators < std::min(coverage.golden_operators, coverage.actual_operators);
}

}  // namespace

DiffAnswer judge_repetition(const dump::DumpSet& first, const dump::DumpSet& second) {
  const BitComparison bits = compare_bits(first, second);
  DiffAnswer answer{.outcome = DiffOutcome::identical, .steps = bits.steps};
  if (!bits.first) {
    answer.sentence = "deterministic: " + identical_text(bits);
    return answer;
  }
  const Parting& parting = *bits.first;
  answer.outcome = DiffOutcome::differs;
  answer.where = where_text(parting, first_step(first));
  answer.sentence = "not deterministic: " + at(parting) + " " + what_differs(parting);
  answer.notes.push_back(way_out(parting));
  note_place(answer, parting);
  return answer;
}

Result<std::optional<Noise>> find_noise(const dump::DumpSet& first, const dump::DumpSet& second) {
  const BitComparison bits = compare_bits(first, second);
  if (!bits.first) return std::optional<Noise>();
  OPDUMP_TRY(const compare::Comparison comparison, compare_fingerprints(first, second));
  Noise noise{.bits = *bits.first, .beyond = std::nullopt};
  if (comparison.outcome == compare::Answer::differs && comparison.first_bad)
    noise.beyond = parting_of(*comparison.first_bad);
  // A run of the same program that takes another path or draws other numbers is beyond rounding at once.
  if (bits.first->is_random || bits.first->slot.empty() || !bits.first->same_inputs)
    if (!noise.beyond || !is_before(*noise.beyond, *bits.first)) noise.beyond = *bits.first;
  return std::optional(noise);
}

Result<DiffAnswer> judge_runs(dump::DumpSet& golden, dump::DumpSet& actual,
                              const std::optional<Noise>& noise) {
  const BitComparison bits = compare_bits(golden, actual);
  DiffAnswer answer{.steps = bits.steps};
  if (!bits.first) {
    answer.outcome = bits.only_in_one > 0 ? DiffOutcome::incomplete : DiffOutcome::identical;
    answer.sentence = identical_text(bits);
    return answer;
  }
  const Parting& parting = *bits.first;
  note_place(answer, parting);
  if (!noise && sets_no_seed(parting)) {
    answer = not_reproducible(parting, "cannot tell: from " + at(parting) +
                                           " on, the first random operator, A and B "
                                           "draw other random numbers");
    answer.steps = bits.steps;
    return answer;
  }
  const std::int64_t first = first_step(golden);
  answer.where = where_text(parting, first);
  // What is the same to the last bit takes time, and says nothing: but for one step, which made what this one
  // reads.
  const dump::LaterRuns later_golden = golden.hide_before(parting.step - 1),
                        later_actual = actual.hide_before(parting.step - 1);
  OPDUMP_TRY(const compare::Comparison comparison, compare_fingerprints(golden, actual));
  if (is_other_program(comparison)) {
    answer.outcome = DiffOutcome::incomplete;
    answer.sentence =
        "A and B are different programs: " + std::to_string(comparison.coverage.paired_operators) + " of " +
        counted(comparison.coverage.golden_operators, "operator") + " have a counterpart";
    return answer;
  }
  answer.sentence = report::conclusion(comparison);
  for (const compare::Note& note : comparison.notes) answer.notes.push_back(note.text);
  switch (comparison.outcome) {
    case compare::Answer::same:
      answer.outcome = DiffOutcome::rounding;
      break;
    case compare::Answer::differs: {
      answer.outcome = DiffOutcome::differs;
      if (comparison.first_bad) note_place(answer, parting_of(*comparison.first_bad));
      answer.rerun.insert(*answer.step);
      // Programs that were the same so far part by what is in this step, however little it is.
      if (parting.step > first) answer.rerun.insert(parting.step);
      break;
    }
    case compare::Answer::incomplete:
    case compare::Answer::nothing_compared:
      answer.outcome = DiffOutcome::incomplete;
      for (const std::string& reason : comparison.incomplete) answer.notes.push_back("incomplete: " + reason);
  }
  if (answer.outcome != DiffOutcome::differs || !comparison.first_bad || !noise) return answer;
  if (!is_noise(parting_of(*comparison.first_bad), *noise)) return answer;
  DiffAnswer unsure = not_reproducible(
      noise->bits, "cannot tell: A alone does not reproduce itself; from step " +
                       std::to_string(noise->bits.step) + " on, " + at(noise->bits) + " " +
                       what_differs(noise->bits) + ", and B shows no difference before that");
  unsure.steps = bits.steps;
  return unsure;
}

}  // namespace opdump::cli
