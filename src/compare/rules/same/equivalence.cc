#include "compare/rules/same/equivalence.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "compare/comparison.h"
#include "compare/facts/operator_kind.h"
#include "compare/facts/rewritten.h"
#include "compare/names.h"
#include "compare/rules/rounding/conditioning.h"
#include "compare/rules/rounding/error_bounds.h"
#include "compare/rules/same/joined_results.h"
#include "compare/wiring/content.h"
#include "compare/wiring/makers.h"
#include "model/operator_traits.h"

namespace opdump::compare {
namespace {

using dump::Runs;
using dump::Slot;

constexpr double kEqualRoundoffs = 32, kEqualNoise = 4;
constexpr double kUncertain = 4;                // times what an element may be off
constexpr std::size_t kMostWriters = 1 << 20;   // that are asked who wrote to memory before
constexpr std::uint64_t kMostJoined = 1 << 24;  // elements of a tensor that may be several of the other run
constexpr std::size_t kNext = 16;               // operators that may read a view of a result

// Places, choices and masks: no arithmetic rounds them.
bool is_exact(model::DType dtype) {
  const model::DTypeKind kind = model::dtype_info(dtype).kind;
  return kind != model::DTypeKind::floating && kind != model::DTypeKind::complex;
}

// A tensor that an operator of one run made.
struct SingleResult {
  std::size_t place = 0;  // in pairs
  std::uint32_t run = 0;  // in Runs
  Slot slot = {};
  Fingerprint print = {};
  bool is_open = false;        // of a pair
  bool reads_nothing = false;  // its operator, as one that draws random numbers
  double norm = 0;
  bool is_read = false, is_equal = false;  // is in the other run
  bool is_there() const { return is_read || is_equal; }
};

// The steps of the other run that have operators of a step.
using StepsOfBoth = std::map<std::int64_t, std::set<std::int64_t>>;

StepsOfBoth find_steps(const Runs& golden, const Runs& actual, std::span<const OperatorPair> pairs,
                       bool of_golden) {
  StepsOfBoth steps;
  for (const OperatorPair& pair : pairs) {
    if (!pair.is_whole()) continue;
    const std::int64_t g = golden.section_of(pair.golden).step, a = actual.section_of(pair.actual).step;
    steps[of_golden ? g : a].insert(of_golden ? a : g);
  }
  return steps;
}

// The results of the operators that only one run has.
class Results {
 public:
  Results(const Wiring& wiring, const Runs& others, StepsOfBoth steps, bool is_strict)
      : wiring_(wiring),
        runs_(wiring.runs()),
        others_(others),
        steps_(std::move(steps)),
        is_strict_(is_strict),
        has_one_step_(count_steps(runs_) == 1 && count_steps(others) == 1) {}

  void add(std::size_t place, std::uint32_t run, bool is_open) {
    first_ = std::min<std::size_t>(first_, run);
    bool reads_nothing = true;
    for (const Slot& slot : runs_.slots(run)) reads_nothing &= slot.side != model::Side::input;
    for (const Slot& slot : runs_.slots(run)) {
      const bool has_nothing = slot.undumped_reason == "view" || slot.undumped_reason == "uninitialised" ||
                               (slot.shape && element_count_of(slot) == 0);
      if (slot.side != model::Side::output || has_nothing) continue;
      const auto print = slot.shape ? fingerprint_of(slot) : std::nullopt;
      if (!print) {
        unseen_.push_back({place, run, slot});
        continue;
      }
      by_print_[{element_count_of(slot), print->sum}].push_back(results_.size());
      by_count_[element_count_of(slot)].push_back(results_.size());
      results_.push_back({.place = place,
                          .run = run,
                          .slot = slot,
                          .print = *print,
                          .is_open = is_open,
                          .reads_nothing = reads_nothing});
    }
  }

  // `passing`: operators that only pass on what they read, and that the other run lacks. What reads their
  // results reads what they read.
  void find_readers(const std::set<std::uint32_t>& passing) {
    if (results_.empty()) return;
    for (const std::uint32_t run : passing)
      if (run > first_) add(kPassing, run, false);
    std::vector<std::pair<std::size_t, std::uint32_t>> passed;  // a result, who passes it on
    for (std::size_t run = first_ + 1; run < runs_.size(); ++run) {
      const bool is_passing = passing.contains(static_cast<std::uint32_t>(run));
      for_each_known(runs_, run, model::Side::input, [&](const Slot&, SingleResult& result) {
        if (result.run >= run || runs_.section_of(result.run).rank != runs_.section_of(run).rank) return;
        if (is_passing)
          passed.emplace_back(&result - results_.data(), static_cast<std::uint32_t>(run));
        else
          result.is_read = true;
      });
    }
    std::set<std::uint32_t> read;  // of `passing`
    for (const SingleResult& result : results_)
      if (result.place == kPassing && result.is_read) read.insert(result.run);
    for (auto last = passed.rbegin(); last != passed.rend(); ++last) {
      if (!read.contains(last->second)) continue;
      results_[last->first].is_read = true;
      if (results_[last->first].place == kPassing) read.insert(results_[last->first].run);
    }
  }

  // What nothing reads is no result where only parameters count, which an optimizer still changes: gradients
  // of anything else, an evaluation. Memory that is written in place may be a parameter.
  void leave_out_unread() {
    std::map<std::uint32_t, std::uint32_t> last_updates;  // by rank, of the last operator of an optimizer
    for (std::uint32_t run = 0; run < runs_.size(); ++run)
      if (phase_of(run) == model::Phase::optimizer) last_updates[runs_.section_of(run).rank] = run;
    for (SingleResult& result : results_) {
      const auto last = last_updates.find(runs_.section_of(result.run).rank);
      const bool is_updated = last != last_updates.end() && result.run < last->second;
      const bool is_parameter = phase_of(result.run) != model::Phase::backward &&
                                runs_.without_slots(result.run).type.ends_with('_');
      if (is_updated && !result.is_open && !is_parameter && phase_of(result.run) != model::Phase::optimizer)
        result.is_read = true;
    }
  }

  // Memory that only this run has, and keeps from step to step, is its own affair: an average of the weights,
  // of which nothing reads the last one. `of_both`: operators that the other run has, too; it may also have
  // made the memory, and not write to it.
  void leave_out_own_memory(const std::set<std::uint32_t>& of_both) {
    std::size_t left = kMostWriters;
    for (SingleResult& result : results_)
      if (!result.is_there() && !result.is_open) result.is_read = is_own_memory(result.run, of_both, left);
  }

  // In what the other run made; not of what is read, unless this is strict or `looks_at_read`.
  void find_equals(double noise, bool looks_at_read = false) {
    for (std::size_t other = 0; other < others_.size(); ++other)
      for_each_known(others_, other, model::Side::output, [&](const Slot&, SingleResult& result) {
        result.is_equal |= result.reads_nothing || is_same_step(result, other);
      });
    std::set<std::uint64_t> open;
    for (SingleResult& result : results_) {
      if (result.is_equal || result.place == kPassing || (result.is_read && !is_strict_ && !looks_at_read))
        continue;
      result.norm = norm_of_tensor(result.slot).value_or(0);
      if (result.norm > 0) open.insert(element_count_of(result.slot));
    }
    for (std::size_t other = 0; other < others_.size() && !open.empty(); ++other)
      for (const Slot& slot : others_.slots(other)) {
        if (slot.side != model::Side::output || !open.contains(element_count_of(slot))) continue;
        const double norm = norm_of_tensor(slot).value_or(0);
        for (const std::size_t i : by_count_[element_count_of(slot)])
          if (is_wanted(results_[i]) && is_same_step(results_[i], other))
            results_[i].is_equal = is_near(results_[i], slot, norm, noise);
      }
  }

  bool has_lacking() const {
    std::set<std::size_t> places;
    append_lacking(places);
    return !places.empty();
  }

  // In what those of the other run make, where elements may be off by more than others.
  void find_uncertain(const Results& of_other, ErrorBounds& bounds, bool is_golden, double noise) {
    for (SingleResult& result : results_) {
      const auto others = of_other.by_count_.find(element_count_of(result.slot));
      if (!is_wanted(result) || others == of_other.by_count_.end()) continue;
      const auto own = bounds.of_output(is_golden, result.run, result.slot, noise);
      if (own == nullptr) continue;
      const double limit = limit_of(roundoff(result.slot.dtype), noise);
      for (const std::size_t i : others->second) {
        const SingleResult& other = of_other.results_[i];
        if (result.is_equal) break;
        if (other.place == kPassing || !is_same_step(result, other.run)) continue;
        const auto theirs = bounds.of_output(!is_golden, other.run, other.slot, noise);
        result.is_equal = theirs != nullptr && is_near(result, other, *own, *theirs, limit);
      }
    }
  }

  // In several of those that the other run makes in the step, one behind the other.
  void find_joined(Results& of_other, double noise) {
    for (SingleResult& result : results_) {
      if (!is_wanted(result) || result.place == kPassing || is_exact(result.slot.dtype)) continue;
      const std::uint64_t count = element_count_of(result.slot);
      const auto whole = count <= kMostJoined ? numbers_of(result.slot) : std::nullopt;
      std::vector<SingleResult*> parts;
      std::vector<std::vector<double>> pieces;
      std::uint64_t left = whole ? 8 * count : 0;
      for (SingleResult& other : of_other.results_) {
        const std::uint64_t size = element_count_of(other.slot);
        if (other.place == kPassing || size >= count || size > left ||
            other.slot.dtype != result.slot.dtype || !is_same_step(result, other.run))
          continue;
        auto numbers = numbers_of(other.slot);
        if (!numbers) continue;
        left -= size;
        parts.push_back(&other);
        pieces.push_back(std::move(*numbers));
      }
      if (!whole) continue;
      const auto found = find_pieces(*whole, pieces, limit_of(roundoff(result.slot.dtype), noise));
      result.is_equal = !found.empty();
      for (const std::size_t i : found) parts[i]->is_equal = true;
    }
  }

  // Through views, which leave nothing in a dump: a slice of the result, or a number that is spread over a
  // tensor, is an input of one of the next operators. A dump lists views themselves in one step only.
  // `passing`: see find_readers().
  void find_readers_of_views(const std::set<std::uint32_t>& passing) {
    for (const Unseen& result : unseen_)
      if (result.place != kPassing && !is_read_by_wiring({result.run, result.slot.index}, passing, 0) &&
          !is_read_unseen(result))
        lacking_.insert(result.place);
    std::set<std::string> viewed;  // operators
    for (SingleResult& result : results_) {
      if (result.is_there() || result.place == kPassing) continue;
      result.is_read = is_read_by_wiring({result.run, result.slot.index}, passing, 0);
      const std::size_t end = std::min<std::size_t>(runs_.size(), result.run + 1 + kNext);
      for (std::size_t run = result.run + 1; run < end && !result.is_read; ++run)
        for (const Slot& slot : runs_.slots(run)) {
          if (slot.side != model::Side::input || result.is_read) continue;
          const bool is_viewed = makes_view(slot, result.slot);
          if (is_viewed) viewed.insert(name_of(result));
          result.is_read = is_viewed || (result.norm > 0 && is_view_of(slot, result.slot));
        }
    }
    for (SingleResult& result : results_)
      result.is_read |= is_exact(result.slot.dtype) && viewed.contains(name_of(result));
  }

  // The operators of which the other run has all that they make.
  std::set<std::uint32_t> equal_runs() const {
    std::set<std::uint32_t> runs;
    for (const SingleResult& result : results_) runs.insert(result.run);
    for (const SingleResult& result : results_)
      if (!result.is_equal) runs.erase(result.run);
    return runs;
  }

  void append_lacking(std::set<std::size_t>& places) const {
    places.insert(lacking_.begin(), lacking_.end());
    places.erase(kPassing);
    std::set<std::size_t> served;  // places with another result that is there
    for (const SingleResult& result : results_)
      if (result.is_there() && !runs_.without_slots(result.run).type.ends_with('_'))
        served.insert(result.place);
    // What nobody reads beside a result that is there is a by-product, unless it is memory that was written.
    for (const SingleResult& result : results_)
      if (!result.is_there() && result.place != kPassing && !served.contains(result.place))
        places.insert(result.place);
  }

 private:
  static constexpr std::size_t kPassing = SIZE_MAX;  // the place of results of these
  static constexpr unsigned kMostPassing = 8;        // in a row

  // Whether an operator reads an output, a view of it, or what is passed on of it. False where nobody knows.
  bool is_read_by_wiring(Wiring::Output output, const std::set<std::uint32_t>& passing,
                         unsigned depth) const {
    if (depth == kMostPassing) return false;
    return std::ranges::any_of(wiring_.likely_readers(output), [&](std::uint32_t reader) {
      return !passing.contains(reader) || is_read_by_wiring({reader, 0}, passing, depth + 1);
    });
  }

  // A result that is not in the dump, as a sparse tensor, of which no wiring says who reads it.
  struct Unseen {
    std::size_t place = 0;  // in pairs
    std::uint32_t run = 0;  // in Runs
    Slot slot = {};
  };

  // Whether one of the next operators reads a tensor that is not in the dump, either, and looks the same.
  bool is_read_unseen(const Unseen& result) const {
    const std::size_t end = std::min<std::size_t>(runs_.size(), result.run + 1 + kNext);
    for (std::size_t run = result.run + 1; run < end; ++run)
      for (const Slot& slot : runs_.slots(run))
        if (slot.side == model::Side::input && !slot.undumped_reason.empty() &&
            slot.undumped_reason == result.slot.undumped_reason && slot.dtype == result.slot.dtype &&
            slot.shape == result.slot.shape)
          return true;
    return false;
  }

  // Whether an operator writes in place to memory that only operators of this run have written to, in an
  // earlier step, too.
  bool is_own_memory(std::uint32_t run, const std::set<std::uint32_t>& of_both, std::size_t& left) const {
    const std::uint32_t last = run;
    while (runs_.without_slots(run).type.ends_with('_')) {
      const Wiring::Writers before = wiring_.writers(run, 0);
      if (!before.are_whole || left < before.executions.size()) return false;
      if (before.executions.empty()) {
        if (!leaves_out(run, "view")) return false;  // of memory from outside
        break;                                       // it begins with other memory, as set_ does
      }
      left -= before.executions.size();
      const auto is_of_both = [&](std::uint32_t writer) {
        return of_both.contains(writer) && !leaves_out(writer, "uninitialised") &&
               kind_of(runs_.without_slots(writer).type).role != OperatorRole::makes;
      };
      if (std::ranges::any_of(before.executions, is_of_both)) return false;
      const std::uint32_t writer = std::ranges::max(before.executions);
      if (writer >= run) return false;
      run = writer;
    }
    return runs_.section_of(run).step < runs_.section_of(last).step;
  }

  // Whether it has an output that is not in the dump for this reason.
  bool leaves_out(std::uint32_t run, std::string_view reason) const {
    for (const Slot& slot : runs_.slots(run))
      if (slot.side == model::Side::output && slot.undumped_reason == reason) return true;
    return false;
  }

  std::string name_of(const SingleResult& result) const { return runs_.without_slots(result.run).name; }
  model::Phase phase_of(std::uint32_t run) const { return compare::phase_of(runs_.without_slots(run)); }

  // Whether an operator may take a view of a result that is no number: masks and places have few elements
  // that tell them apart, and views have no tensors.
  static bool makes_view(const Slot& input, const Slot& result) {
    return !input.has_data() && input.dtype == result.dtype && input.shape == result.shape &&
           is_exact(result.dtype);
  }

  // Slots of a run that have the elements of a result.
  template <typename Take>
  void for_each_known(const Runs& runs, std::size_t run, model::Side side, const Take& take) {
    for (const Slot& slot : runs.slots(run)) {
      if (slot.side != side || !by_count_.contains(element_count_of(slot))) continue;
      const auto print = fingerprint_of(slot);
      const auto known = print ? by_print_.find({element_count_of(slot), print->sum}) : by_print_.end();
      if (known == by_print_.end()) continue;
      for (const std::size_t i : known->second) take(slot, results_[i]);
    }
  }

  // Nothing equal has been found yet for one that was looked for.
  static bool is_wanted(const SingleResult& result) { return !result.is_equal && result.norm > 0; }

  bool is_same_step(const SingleResult& result, std::size_t other) const {
    if (has_one_step_) return true;
    const std::int64_t step = runs_.section_of(result.run).step, of_other = others_.section_of(other).step;
    const auto others = steps_.find(step);
    return others == steps_.end() ? step == of_other : others->second.contains(of_other);
  }

  static std::size_t count_steps(const Runs& runs) {
    std::set<std::int64_t> steps;
    for (std::uint32_t i = 0; i < runs.section_count(); ++i) steps.insert(runs.section(i).step);
    return steps.size();
  }

  double limit_of(double u, double noise) const {
    return is_strict_ ? strict_limit(u) : std::max(kEqualRoundoffs * u, kEqualNoise * noise);
  }

  static bool is_near(const SingleResult& result, const SingleResult& other, const ErrorBounds::Elements& own,
                      const ErrorBounds::Elements& theirs, double limit) {
    const auto a = numbers_of(result.slot), b = numbers_of(other.slot);
    if (!a || !b || a->size() != b->size() || a->size() != own.size() || a->size() != theirs.size())
      return false;
    const double rms = result.norm / std::sqrt(static_cast<double>(a->size()));
    for (std::size_t i = 0; i < a->size(); ++i)
      if (!(std::abs((*a)[i] - (*b)[i]) <= limit * rms + kUncertain * (own[i] + theirs[i]))) return false;
    return true;
  }

  bool is_near(const SingleResult& result, const Slot& slot, double norm, double noise) const {
    const double limit = limit_of(std::max(roundoff(result.slot.dtype), roundoff(slot.dtype)), noise);
    // Most others are recognised by their size.
    if (!(norm > 0) || std::abs(norm - result.norm) > limit * result.norm) return false;
    auto a = dump::StoredTensor::read(result.slot), b = dump::StoredTensor::read(slot);
    if (!a || !b || !a->straighten() || !b->straighten()) return false;
    const auto metrics = math::compare_tensors(b->view(), a->view(), {});
    return metrics && metrics->nan_mismatch_count == 0 && metrics->relative_l2 <= limit;
  }

  const Wiring& wiring_;
  const Runs &runs_, &others_;
  const StepsOfBoth steps_;
  bool is_strict_, has_one_step_;
  std::size_t first_ = SIZE_MAX;  // of the operators
  std::vector<SingleResult> results_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<std::size_t>> by_print_;  // elements, sum
  std::map<std::uint64_t, std::vector<std::size_t>> by_count_;
  std::vector<Unseen> unseen_;
  std::set<std::size_t> lacking_;  // places of those that nothing reads
};

struct RunResults {
  const Runs& runs;
  bool is_golden;
  const std::set<std::uint32_t>& passing;  // operators that only hand on what they read
  const Results& results;
};

// Adds those of `open` that read, in one run, what the other run cannot have.
void append_foreign(const RunResults& side, std::span<const OperatorPair> pairs,
                    std::span<const OpenPair> open, const RewrittenModules& rewritten,
                    std::set<std::size_t>& places) {
  const Runs& runs = side.runs;
  const bool is_golden = side.is_golden;
  const auto run_of = [&](const OperatorPair& pair) { return is_golden ? pair.golden : pair.actual; };
  const std::set<std::uint32_t> equal = side.results.equal_runs();
  std::set<std::uint32_t> of_both;
  for (const OperatorPair& pair : pairs)
    if (pair.is_whole()) of_both.insert(run_of(pair));
  std::vector<std::pair<std::uint32_t, std::uint32_t>> inputs;
  for (const OpenPair& pair : open)
    for (const auto& [of_golden, of_actual] : pair.inputs)
      inputs.emplace_back(run_of(pairs[pair.place]), is_golden ? of_golden : of_actual);
  Makers makers(runs);
  makers.find(inputs, side.passing);
  auto input = inputs.begin();
  for (const OpenPair& pair : open)
    for (std::size_t i = 0; i < pair.inputs.size(); ++i, ++input) {
      const auto maker = makers.of(input->first, input->second);
      const bool is_known = maker && (of_both.contains(*maker) || equal.contains(*maker) ||
                                      rewritten.contains(runs.without_slots(input->first)));
      if (!is_known) places.insert(pair.place);
    }
}

// Whether it reads a tensor that differs, and that no operator of its run made. Of the first of several, that
// is quick, and settles all.
bool reads_data(const Wiring& golden, const Wiring& actual, const OperatorPair& pair, const OpenPair& open,
                const std::set<std::uint32_t> (&passing)[2]) {
  for (const bool is_golden : {true, false}) {
    const std::uint32_t run = is_golden ? pair.golden : pair.actual;
    Makers::Inputs inputs;
    for (const auto& [of_golden, of_actual] : open.inputs)
      inputs.emplace_back(run, is_golden ? of_golden : of_actual);
    Makers makers((is_golden ? golden : actual).runs());
    makers.find(inputs, passing[is_golden]);
    if (std::ranges::any_of(inputs, [&](const auto& input) { return !makers.of(run, input.second); }))
      return true;
  }
  return false;
}

// Of a run: the operators of which all outputs that are read lead, by themselves or through others, to none
// of `known`, but to what has no outputs, as a program that takes a number.
std::vector<bool> find_hidden_runs(const Wiring& wiring, const std::vector<bool>& known) {
  std::vector<bool> hidden(known.size(), false);
  for (auto run = static_cast<std::uint32_t>(known.size()); run-- > 0;) {
    if (known[run]) continue;
    bool has_output = false, is_read = false, is_shown = false;
    for (const Slot& slot : wiring.runs().slots(run)) {
      if (slot.side != model::Side::output || is_shown) continue;
      has_output = true;
      const auto readers = wiring.likely_readers({run, slot.index});
      is_read |= !readers.empty();
      is_shown = std::ranges::any_of(readers, [&](std::uint32_t reader) { return !hidden[reader]; });
    }
    hidden[run] = !has_output || (is_read && !is_shown);
  }
  return hidden;
}

// Finds the pairs of operators of both runs, among `places` and `open`, whose results only lead to what was
// not compared, or differs.
class HiddenPairs {
 public:
  HiddenPairs(const Study& study, const Ledger& ledger, std::span<const std::size_t> places,
              std::span<const OpenPair> open)
      : study_(study) {
    for (const std::size_t place : places)
      if (study.pairs[place].is_whole()) places_.push_back(place);
    for (const OpenPair& pair : open)
      if (!pair.agrees) places_.push_back(pair.place);
    if (places_.empty()) return;
    golden_.resize(study.golden_wiring->runs().size());
    actual_.resize(study.actual_wiring->runs().size());
    for (std::size_t place = 0; place < study.pairs.size(); ++place)
      if (ledger.agreement(place) == Agreement::agrees) set_known(place);
    for (const OpenPair& pair : open)
      if (pair.agrees) set_known(pair.place);
  }

  bool empty() const { return places_.empty(); }

  // `golden` and `actual`: operators of which the other run has all that they make.
  std::vector<std::size_t> find(const std::set<std::uint32_t>& golden,
                                const std::set<std::uint32_t>& actual) {
    for (const std::uint32_t run : golden) golden_[run] = true;
    for (const std::uint32_t run : actual) actual_[run] = true;
    const std::vector<bool> of_golden = find_hidden_runs(*study_.golden_wiring, golden_);
    const std::vector<bool> of_actual = find_hidden_runs(*study_.actual_wiring, actual_);
    std::vector<std::size_t> hidden;
    for (const std::size_t place : places_)
      if (of_golden[study_.pairs[place].golden] || of_actual[study_.pairs[place].actual])
        hidden.push_back(place);
    return hidden;
  }

 private:
  void set_known(std::size_t place) {
    const OperatorPair& pair = study_.pairs[place];
    golden_[pair.golden] = actual_[pair.actual] = true;
  }

  const Study& study_;
  std::vector<std::size_t> places_;
  std::vector<bool> golden_, actual_;  // executions that are known to be right
};

}  // namespace

std::vector<std::size_t> find_unexplained(const Study& study, const Ledger& ledger,
                                          std::span<const std::size_t> singles,
                                          std::span<const OpenPair> open, double noise) {
  const Wiring &golden = *study.golden_wiring, &actual = *study.actual_wiring;
  const auto pairs = study.pairs;
  std::set<std::uint32_t> passing[2];
  for (const OperatorPair& pair : pairs) {
    if (pair.is_whole()) continue;
    const bool is_golden = pair.golden != OperatorPair::kNone;
    const std::uint32_t run = is_golden ? pair.golden : pair.actual;
    if (model::has_trait((is_golden ? golden : actual).runs().without_slots(run).type, model::Trait::copies))
      passing[is_golden].insert(run);
  }
  if (!open.empty() && reads_data(golden, actual, pairs[open.front().place], open.front(), passing))
    return {open.front().place};
  const bool is_strict = !open.empty();
  Results of_golden(golden, actual.runs(), find_steps(golden.runs(), actual.runs(), pairs, true), is_strict);
  Results of_actual(actual, golden.runs(), find_steps(golden.runs(), actual.runs(), pairs, false), is_strict);
  const auto add = [&](std::size_t place, bool is_open) {
    const OperatorPair& pair = pairs[place];
    if (pair.golden != OperatorPair::kNone) of_golden.add(place, pair.golden, is_open);
    if (pair.actual != OperatorPair::kNone) of_actual.add(place, pair.actual, is_open);
  };
  for (const std::size_t place : singles) add(place, false);
  for (const OpenPair& pair : open) add(pair.place, true);
  std::set<std::size_t> places;
  for (Results* results : {&of_golden, &of_actual}) {
    results->find_readers(passing[results == &of_golden]);
    results->find_equals(noise);
  }
  if (ErrorBounds* bounds = ledger.bounds(); bounds != nullptr) {
    of_golden.find_uncertain(of_actual, *bounds, true, noise);
    of_actual.find_uncertain(of_golden, *bounds, false, noise);
  }
  of_golden.find_joined(of_actual, noise);
  of_actual.find_joined(of_golden, noise);
  for (Results* results : {&of_golden, &of_actual}) {
    results->find_readers_of_views(passing[results == &of_golden]);
    results->leave_out_unread();
  }
  // What golden keeps, and actual does not, may be what actual has lost; so may what golden has instead.
  if (!of_golden.has_lacking() && of_actual.has_lacking()) {
    std::set<std::uint32_t> of_both;
    for (const OperatorPair& pair : pairs)
      if (pair.is_whole()) of_both.insert(pair.actual);
    of_actual.leave_out_own_memory(of_both);
  }
  of_golden.append_lacking(places);
  of_actual.append_lacking(places);
  HiddenPairs pairs_of_both(study, ledger, singles, open);
  if (golden.is_recorded() && actual.is_recorded() && !pairs_of_both.empty()) {
    auto hidden = pairs_of_both.find(of_golden.equal_runs(), of_actual.equal_runs());
    if (!hidden.empty()) {  // what reads them may be no operator of both runs, and make what both have
      for (Results* results : {&of_golden, &of_actual}) results->find_equals(noise, true);
      hidden = pairs_of_both.find(of_golden.equal_runs(), of_actual.equal_runs());
    }
    places.insert(hidden.begin(), hidden.end());
  }
  if (!open.empty()) {
    const RewrittenModules rewritten = find_rewritten(golden.runs(), actual.runs(), pairs);
    append_foreign({golden.runs(), true, passing[true], of_golden}, pairs, open, rewritten, places);
    append_foreign({actual.runs(), false, passing[false], of_actual}, pairs, open, rewritten, places);
  }
  return {places.begin(), places.end()};
}

}  // namespace opdump::compare
