// The result of a comparison of two dumps, and its options.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "compare/matrix_units.h"
#include "compare/operator_pair.h"
#include "compare/paired_by.h"
#include "dump/read/dump_set.h"
#include "math/metrics/metrics.h"

namespace opdump::group {
struct Share;  // group/shared_work.h
}

namespace opdump::compare {

// What became of a slot or an operator. A fault in an operator's slots comes before an open question.
enum class Verdict : std::uint8_t {
  match,             // within tolerance
  inherited,         // output differs, and so does an input: the fault lies before
  own_error,         // output differs although every input that could be compared matches
  input_differs,     // only inputs differ; outputs match or were not dumped
  not_comparable,    // a slot whose shapes differ; an operator of which one side has an output more
  unreadable,        // one side has no usable data (torn file, reason in the dump): nothing can be said
  missing,           // only in golden
  extra,             // only in actual
  skipped,           // no data on either side, for the same reason
  argument_differs,  // output differs, and so does an argument or a constant of the program, but no other
                     // input
  rounding,   // output differs by no more than what the rounding of earlier operators grows to: no difference
  uncertain,  // it differs, and is perhaps another operator in each run: an open question
};
inline constexpr std::string_view kVerdictNames[] = {
    "match",   "inherited", "own_error", "input_differs",    "not_comparable", "unreadable",
    "missing", "extra",     "skipped",   "argument_differs", "rounding",       "uncertain"};
inline std::string_view verdict_name(Verdict verdict) {
  return kVerdictNames[static_cast<std::size_t>(verdict)];
}
// A paired operator has an output that differs.
inline bool has_bad_output(Verdict verdict) {
  return verdict == Verdict::own_error || verdict == Verdict::inherited ||
         verdict == Verdict::argument_differs;
}
inline bool is_difference(Verdict verdict) {
  return has_bad_output(verdict) || verdict == Verdict::input_differs || verdict == Verdict::not_comparable;
}
// Nothing differs, and nothing is left open.
inline bool is_fine(Verdict verdict) {
  return verdict == Verdict::match || verdict == Verdict::rounding || verdict == Verdict::skipped;
}

struct ShardedSlot;  // sharded/measure_shards.h
struct SlotParts;    // measure/measure_parts.h
struct ShardRules;   // sharded/shard_rules.h

struct SlotComparison {
  const dump::Slot* golden = nullptr;  // null if extra
  const dump::Slot* actual = nullptr;  // null if missing
  Verdict verdict = Verdict::match;
  bool from_statistics = false;  // compared max, min, ... because a tensor is missing on one side
  model::DType dtype = model::DType::undefined;  // of golden; of actual if extra
  std::optional<model::Shape> shape;             // of golden; of actual if extra
  std::uint64_t bytes = 0;                       // of golden's elements that were compared
  std::optional<math::Metrics> metrics;
  std::string reason;  // for people: "shape (2,3) against (3,2)", "Max Value 1.5 against 1.7"
  // Elements may lie in another order, as between frameworks or in a graph that an engine rewrote
  // (across/tensor_layout.h).
  bool any_layout = false;
  // One side has several ranks; the slot above is that of the first. `metrics` and `shape` are those of the
  // rank that is off by most.
  std::shared_ptr<const ShardedSlot> sharded = nullptr;
  std::vector<std::uint32_t> wrong_ranks = {};  // whose tensors differ
  // What is compared of it, where one run has other rows than the other; null: all.
  std::shared_ptr<const SlotParts> parts = nullptr;
  bool is_sum = false;          // each rank has a term of a sum
  bool is_cut_in_rows = false;  // each rank has some rows
  bool counts_anew = false;     // of whole numbers each rank has its part, less the first one: places
  // A coarser type, as which the units round that multiply matrices in one run (matrix_units.h).
  model::DType rounds_as = model::DType::undefined;
  double quantisation_step = 0;  // of the tensor of a quantised model (runs/quantisation.h); 0: none
  bool is_quantised = false;     // one side has integers, which stand for numbers
  double quantisation_zero = 0;  // the integer that stands for 0
  std::string_view rule = {};    // that gave it its verdict (rules/rule.h); empty: its elements did
};

// Another rank whose inputs of the same collective differ.
struct OtherRank {
  std::uint32_t rank = 0;
  double relative_l2 = 0;  // the largest difference of its inputs
};

// The type that rounds most of a tensor's two, and of what its operators were computed with.
model::DType coarsest_dtype(const SlotComparison& slot);

struct OperatorComparison {
  std::shared_ptr<const dump::OperatorRun> golden, actual;  // with the slots below
  Verdict verdict = Verdict::match;
  // It is missing or extra, as is all else of its rank and step: that step was not recorded on the other
  // side, which is no fault of an operator.
  bool is_alone = false;
  // "eps is 1e-05 in golden and 0.001 in actual"; empty if no argument differs or neither inputs nor outputs
  // do.
  std::string cause;
  PairedBy paired_by = PairedBy::none;
  float confidence = 1;  // that the two are the same operator
  Fusion fusion = Fusion::none;
  bool is_across = false;  // of different frameworks: what only one side has is left out
  // The same operator on each rank, if a run of several ranks is compared with one of one rank, else empty.
  // An element is null where a rank has none.
  std::vector<std::shared_ptr<const dump::OperatorRun>> shards = {};
  std::optional<OtherRank> other_rank =
      {};                     // where a difference of its outputs comes from (runs/collectives.h)
  bool lacks_slots = false;   // one of the dumps does not have all tensors of an operator
  bool is_quantised = false;  // one of the models is (runs/quantisation.h)
  // If not empty, this says why nothing is said of its inputs, or of the operator if it has no partner.
  std::string left_out;
  // It is missing or extra, and the other side did not record all: it may have run it, too.
  bool may_be_unseen = false;
  bool is_filtered = false;      // it has no partner because the other dump was not to have it
  bool is_before_other = false;  // it has none because the other run begins at a later step
  std::string_view rule = {};    // that gave it its verdict or cause, the last one (rules/rule.h)
  bool reads_rounding = false;   // its inputs differ by no more than rounding
  // Where other operators excuse it, by how much differences grow or by what follows: the verdict by its own
  // tensors.
  std::optional<Verdict> as_measured = {};
  std::string excess = {};  // "output.0: it differs 90 times as much as ...", where gains count
  std::vector<SlotComparison> slots;

  // The side to describe it by: golden where there is one.
  const dump::OperatorRun& run() const { return golden != nullptr ? *golden : *actual; }
};

struct Coverage {
  std::uint64_t golden_operators = 0, actual_operators = 0, paired_operators = 0;
  std::uint64_t golden_slots = 0;  // without the skipped ones
  std::uint64_t compared_slots = 0, compared_bytes = 0, skipped_slots = 0;
  double forward_share = 1;  // of the forward pass, in modules of which something was compared
  std::uint64_t golden_filtered = 0, actual_filtered = 0;  // operators that the other dump was not to have
};

// The answer in one word. Something that differs is certain even if other things could not be compared.
enum class Answer : std::uint8_t {
  same,
  differs,
  incomplete,        // no difference found, but not everything could be looked at
  nothing_compared,  // the dumps share nothing
};
inline constexpr std::string_view kOutcomeNames[] = {"same", "differs", "incomplete", "nothing_compared"};

// Operators of one step that follow one another and have no partner.
struct UnpairedOperators {
  std::uint64_t only_golden = 0, only_actual = 0;
};

// An operator that a rule names as the one where the two runs part.
struct Accusation {
  std::string_view rule;
  OperatorComparison op;
  std::size_t place = 0;          // in the pairs of operators
  UnpairedOperators before = {};  // just before it, if it has a partner itself
  std::string view = {};          // the last view in its step, before it, that has other arguments
  bool is_handed_on = false;      // by another rank
  std::shared_ptr<const Accusation> single = nullptr;  // just before it, by which it may be explained
  // Whether it takes the place of an accusation that stands; null: always.
  bool (*precedes)(const Accusation& self, const Accusation& standing) = nullptr;
  // What its consequences are called: "the missing gradient". Empty: it has none that blame must know.
  std::string_view followers = {};
};

// A sentence for the user: what was assumed, or what explains many operators at once.
struct Note {
  std::string_view rule;  // empty: of the pairing, or of the dumps
  std::string text;       // "golden's step 3 is compared with actual's step 5"
};

// What a rule said while the first bad operator was found.
struct TraceLine {
  std::string_view rule;
  std::string said;  // empty: it looked, and had nothing to say
};

struct Comparison {
  // What each run multiplies matrices with, if with fewer bits than their type has.
  std::optional<MatrixUnits> golden_units, actual_units;
  // The first operator with an output that differs, else the first difference of another kind. "First" means
  // the lowest step, then golden's order of execution. Usually it is an own_error. If it is inherited, the
  // fault lies in what no recorded operator made, weights or data; later own_errors are then mostly small
  // differences that grew, and not the answer. Where an operator that only one side has made what it reads,
  // that one is the first bad operator, unless each side computes the module in its own way.
  std::optional<OperatorComparison> first_bad;
  UnpairedOperators before_first_bad;  // just before it, if it has a partner itself
  std::string view_before_first_bad;   // the last one in its step, if it has other arguments
  // Holds all accusations, in the order of the rules; the last one that takes the place of those before it is
  // `first_bad`.
  std::vector<Accusation> accusations = {};
  std::vector<TraceLine> trace = {};  // of first_bad, if CompareOptions::explain
  bool has_ranks = false;             // several
  bool is_across = false;             // operators were paired by what they compute
  std::array<std::uint64_t, std::size(kVerdictNames)> verdicts{};  // how many operators have which
  Coverage coverage;
  Answer outcome = Answer::nothing_compared;
  std::vector<std::string> incomplete;  // why the answer may not be whole: torn files, an interrupted run
  std::vector<Note> notes;

  // The last accusation of a rule; null if it made none.
  const Accusation* accusation_of(std::string_view rule) const {
    const auto found = std::find_if(accusations.rbegin(), accusations.rend(),
                                    [&](const Accusation& accusation) { return accusation.rule == rule; });
    return found == accusations.rend() ? nullptr : &*found;
  }
};

// How it is found out which operator of one run is which of the other.
enum class PairBy : std::uint8_t {
  names,
  operators,  // by what they compute, as those of different frameworks (pairs/across/pair_across.h)
  results,    // by what they make, whatever makes it (pairs/results/result_pairs.h)
};

struct CompareOptions {
  std::optional<double> rtol, atol;  // override the table by dtype
  // Default: by `operators` if `map` is not empty, or both dumps say what they were recorded from, and that
  // differs; else by names, and where these pair little by what explains more.
  std::optional<PairBy> pair_by;
  std::vector<std::pair<std::string, std::string>> map;  // PairingMap
  // How ranks hold tensors; null: all is found. An error unless one dump has one rank and the other those of
  // its mesh.
  std::shared_ptr<const ShardRules> shards;
  // Elements must be equal bit by bit: no rounding is excused. Goes with tolerances of 0.
  bool is_bitwise = false;
  // Whether to find which rows of golden are which of actual where the runs have other rows. Default: where
  // their data says it beyond doubt; the result is then incomplete, because the other rows may be the fault.
  std::optional<bool> finds_rows;
  // Which rows of golden are which of actual, as the user knows: "row 2 is row 0".
  std::vector<std::pair<std::int64_t, std::int64_t>> rows;
  std::set<std::string, std::less<>> without;  // names of rules that are switched off (rules/rule.h)
  bool explain = false;                        // fill in Comparison::trace
  const group::Share* share = nullptr;         // null: this process does it all
  unsigned threads = 0;                        // 0: all cores
  std::function<void(std::uint64_t done, std::uint64_t total)>
      progress;  // bytes; may be empty; one thread at a time
  // Gets every operator once it is judged, in golden's order of execution, extras where they ran; may be
  // empty.
  std::function<void(const OperatorComparison& op)> take;
};

// The tolerance for a dtype, the coarser one of the two tensors: float16 1e-3/1e-5, bfloat16 1.6e-2/1e-5,
// float32 1.3e-6/1e-5, float64 1e-7/1e-7 (rtol/atol; the ones torch.testing.assert_close uses), complex as
// its parts, integers and bool exact. atol is relative to the root mean square of the golden tensor, so that
// small tensors (gradients, the state of an optimizer) are compared as sharply as large ones; --atol is
// absolute.
math::Tolerance default_tolerance(model::DType dtype);

}  // namespace opdump::compare
