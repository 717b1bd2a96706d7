#include "compare/pairs/across/pair_across.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <tuple>

#include "base/text/text.h"
#include "compare/facts/operator_kind.h"
#include "compare/names.h"
#include "compare/pairs/across/data_flow.h"
#include "compare/pairs/across/matching.h"

namespace opdump::compare {
namespace {

constexpr std::size_t kMostNamed = 8;  // of operators in notes

std::set<std::string_view> frameworks_of(const dump::DumpSet& dump) {
  std::set<std::string_view> frameworks;
  for (const auto& [rank, status] : dump.statuses())
    if (!status.runtime.empty()) frameworks.insert(framework_of(status.runtime));
  for (const auto& [rank, directory] : dump.rank_directories()) {
    std::error_code ignored;
    // MindSpore's own dump; ours has a status, too.
    if (!dump.statuses().contains(rank) && std::filesystem::exists(directory / ".dump_metadata", ignored))
      frameworks.insert("mindspore");
  }
  return frameworks;
}

// The executions of one rank and step, whatever their graphs.
struct StepRuns {
  std::uint32_t rank = 0;
  std::int64_t step = 0;
  std::uint32_t first = 0, last = 0;
};

// Returns the steps of each rank, without what ran after the last step.
std::vector<StepRuns> frames_of(const dump::Runs& runs, const Tails& tails) {
  std::vector<StepRuns> frames;
  for (std::uint32_t i = 0; i < runs.size(); ++i) {
    const dump::Runs::Section& section = runs.section_of(i);
    const auto tail = tails.find(section.rank);
    if (tail != tails.end() && tail->second >= 0 && section.step >= tail->second) continue;
    if (frames.empty() || frames.back().rank != section.rank || frames.back().step != section.step)
      frames.push_back({section.rank, section.step, i, i});
    frames.back().last = i + 1;
  }
  return frames;
}

std::vector<std::pair<StepRuns, StepRuns>> pair_frames(const std::vector<StepRuns>& golden,
                                                       const std::vector<StepRuns>& actual,
                                                       std::vector<std::string>& notes) {
  if (golden.size() == 1 && actual.size() == 1) {
    if (golden[0].step != actual[0].step)
      notes.push_back("step " + std::to_string(golden[0].step) + " of golden is compared with step " +
                      std::to_string(actual[0].step) + " of actual, the only one there");
    return {{golden[0], actual[0]}};
  }
  std::vector<std::pair<StepRuns, StepRuns>> pairs;
  for (const StepRuns& g : golden) {
    const auto a = std::ranges::find_if(
        actual, [&](const StepRuns& frame) { return frame.rank == g.rank && frame.step == g.step; });
    pairs.emplace_back(g, a == actual.end() ? StepRuns{g.rank, g.step, 0, 0} : *a);
  }
  for (const StepRuns& a : actual)
    if (std::ranges::none_of(golden, [&](const StepRuns& g) { return a.rank == g.rank && a.step == g.step; }))
      pairs.emplace_back(StepRuns{a.rank, a.step, 0, 0}, a);
  return pairs;
}

Fusion why_unpaired(const FlowNode& node) {
  if (node.whole != FlowNode::kNone || node.is_seen_through) return Fusion::part;
  if (node.kind.role == OperatorRole::moves) return Fusion::moves;
  return node.kind.role == OperatorRole::makes ? Fusion::makes : Fusion::foreign;
}

// Counts and names for people.
class Account {
 public:
  void add(const NodePair& pair, std::string_view golden, std::string_view actual) {
    ++methods_[pair.method];
    if (pair.confidence >= kCertainPair) return;
    if (uncertain_.size() < kMostNamed)
      uncertain_.push_back(std::string(golden) + " = " + std::string(actual));
    ++uncertain_count_;
  }
  void add_foreign(bool is_golden) { ++(is_golden ? foreign_golden_ : foreign_actual_); }

  void append_to(std::vector<std::string>& notes) const {
    std::string text;
    for (const auto& [method, count] : methods_)
      text += (text.empty() ? "" : ", ") + std::to_string(count) + " by " +
              std::string(kPairedByNames[static_cast<std::size_t>(method)]);
    notes.push_back("operators are paired as those of different frameworks: " +
                    (text.empty() ? std::string("none have anything in common") : text));
    if (foreign_golden_ + foreign_actual_ > 0)
      notes.push_back(counted(foreign_golden_, "operator") + " of golden and " +
                      std::to_string(foreign_actual_) +
                      " of actual compute what no operator of the other one computes: left out");
    if (uncertain_count_ == 0) return;
    std::string list;
    for (const std::string& pair : uncertain_) list += (list.empty() ? "" : "; ") + pair;
    if (uncertain_count_ > uncertain_.size()) list += "; ...";
    notes.push_back(counted(uncertain_count_, "pair", "are") + " uncertain: " + list);
  }

 private:
  std::map<PairedBy, std::uint64_t> methods_;
  std::uint64_t uncertain_count_ = 0, foreign_golden_ = 0, foreign_actual_ = 0;
  std::vector<std::string> uncertain_;
};

// One step of both.
class FramePairs {
 public:
  FramePairs(const dump::Runs& golden, const dump::Runs& actual, const std::pair<StepRuns, StepRuns>& frames,
             unsigned threads)
      : golden_runs_(golden),
        actual_runs_(actual),
        golden_(golden, frames.first.first, frames.first.last, threads),
        actual_(actual, frames.second.first, frames.second.last, threads),
        match_(golden_, actual_) {}

  // Marks the entries whose names are in this step.
  void declare(const PairingMap& map, std::vector<bool>& used) {
    for (std::size_t i = 0; i < map.size(); ++i) {
      const std::uint32_t g = find(golden_, golden_runs_, map[i].first);
      const std::uint32_t a = find(actual_, actual_runs_, map[i].second);
      if ((g == OperatorPair::kNone && !map[i].first.empty()) ||
          (a == OperatorPair::kNone && !map[i].second.empty()))
        continue;
      used[i] = true;
      match_.declare(g, a);
    }
  }

  void append_to(Pairing& pairing, Account& account) {
    match_.match();
    std::vector<std::uint32_t> partner_of_golden(golden_.size(), OperatorPair::kNone),
        extra_after(actual_.size(), OperatorPair::kNone);
    std::map<std::uint32_t, NodePair> by_golden;
    std::vector<std::uint32_t> partner_of_actual(actual_.size(), OperatorPair::kNone);
    for (const NodePair& pair : match_.pairs()) {
      by_golden.emplace(pair.golden, pair);
      partner_of_actual[pair.actual] = pair.golden;
    }
    // An extra one follows the partner of the last one before it.
    std::multimap<std::uint32_t, std::uint32_t> extras;
    std::uint32_t anchor = 0;
    for (std::uint32_t a = 0; a < actual_.size(); ++a) {
      if (partner_of_actual[a] != OperatorPair::kNone)
        anchor = partner_of_actual[a] + 1;
      else
        extras.emplace(anchor, a);
    }
    for (std::uint32_t g = 0; g <= golden_.size(); ++g) {
      for (auto [extra, end] = extras.equal_range(g); extra != end; ++extra)
        append_single(actual_[extra->second], false, pairing, account);
      if (g == golden_.size()) break;
      const auto pair = by_golden.find(g);
      if (pair == by_golden.end())
        append_single(golden_[g], true, pairing, account);
      else
        append_pair(pair->second, pairing, account);
    }
    note_open_end(pairing);
  }

 private:
  static std::string full_name(const dump::Runs& runs, const FlowNode& node) {
    return operator_name(runs.without_slots(node.run));
  }

  static std::uint32_t find(const DataFlow& flow, const dump::Runs& runs, std::string_view name) {
    if (name.empty()) return OperatorPair::kNone;
    for (std::uint32_t i = 0; i < flow.size(); ++i) {
      const dump::OperatorRun run = runs.without_slots(flow[i].run);
      if (operator_name(run) == name || run.name == name) return i;
    }
    return OperatorPair::kNone;
  }

  void append_single(const FlowNode& node, bool is_golden, Pairing& pairing, Account& account) const {
    OperatorPair& pair = pairing.pairs.emplace_back();
    (is_golden ? pair.golden : pair.actual) = node.run;
    pair.is_alone = (is_golden ? actual_ : golden_).size() == 0;
    pair.fusion = why_unpaired(node);
    if (pair.fusion == Fusion::foreign && !pair.is_alone) account.add_foreign(is_golden);
  }

  void append_pair(const NodePair& pair, Pairing& pairing, Account& account) const {
    const FlowNode &golden = golden_[pair.golden], &actual = actual_[pair.actual];
    const bool is_folded = golden.has_other_weights != actual.has_other_weights;
    // An operator that stands for several is paired with the last of these, which reads something else; one
    // that has the place of another one reads the same.
    const bool has_its_place = pair.method == PairedBy::data_flow && !golden.is_of_optimizer;
    const bool is_other_kind = golden.kind.name != actual.kind.name && !has_its_place;
    pairing.pairs.push_back({.golden = golden.run,
                             .actual = actual.run,
                             .fusion = is_other_kind ? Fusion::fused
                                       : is_folded   ? Fusion::folded
                                                     : Fusion::none,
                             .paired_by = pair.method,
                             .confidence = pair.confidence,
                             .golden_first = golden.first,
                             .actual_first = actual.first});
    account.add(pair, full_name(golden_runs_, golden), full_name(actual_runs_, actual));
  }

  // The results of a network must be compared, at least those of one side's last operator.
  void note_open_end(Pairing& pairing) const {
    const auto last_of = [](const DataFlow& flow) {
      const bool has_modules =
          std::ranges::any_of(flow.nodes(), [](const FlowNode& node) { return !node.path.empty(); });
      for (std::uint32_t i = flow.size(); i-- > 0;)
        if (flow[i].can_pair() && !(has_modules && flow[i].path.empty())) return i;
      return OperatorPair::kNone;
    };
    const std::uint32_t g = last_of(golden_), a = last_of(actual_);
    if (g == OperatorPair::kNone || a == OperatorPair::kNone || match_.is_paired(true, g) ||
        match_.is_paired(false, a))
      return;
    std::string reason = "the last operators, " + full_name(golden_runs_, golden_[g]) + " of golden and " +
                         full_name(actual_runs_, actual_[a]) + " of actual, have no partner";
    if (std::ranges::find(pairing.incomplete, reason) == pairing.incomplete.end())  // of another step
      pairing.incomplete.push_back(std::move(reason));
  }

  const dump::Runs &golden_runs_, &actual_runs_;
  DataFlow golden_, actual_;
  CrossMatch match_;
};

constexpr double kSame = 1e-2;  // prints that are farther apart are not of the same tensor

// The slots of one side of an operator in both runs: which is which. Those that are as good as equal come
// first, then those of one shape, then those of as many elements, each in order.
class SlotMatch {
 public:
  SlotMatch(std::vector<const dump::Slot*> golden, std::vector<const dump::Slot*> actual)
      : golden_(std::move(golden)),
        actual_(std::move(actual)),
        partners_(golden_.size(), SIZE_MAX),
        is_taken_(actual_.size()) {
    join_equal();
    join([](const dump::Slot& g, const dump::Slot& a) { return g.shape && g.shape == a.shape; });
    join([](const dump::Slot& g, const dump::Slot& a) { return count_of(g) == count_of(a); });
  }

  std::size_t partner(std::size_t golden) const { return partners_[golden]; }  // SIZE_MAX: it has none

 private:
  static std::uint64_t count_of(const dump::Slot& slot) {
    return slot.shape ? model::element_count(*slot.shape).value_or(0) : std::uint64_t{0};
  }
  bool is_open(std::size_t g, std::size_t a) const { return partners_[g] == SIZE_MAX && !is_taken_[a]; }
  void set(std::size_t g, std::size_t a) {
    partners_[g] = a;
    is_taken_[a] = true;
  }

  // Where it is not plain by the numbers of elements.
  void join_equal() {
    const auto are_several = [](const std::vector<const dump::Slot*>& slots, std::uint64_t count) {
      return std::ranges::count_if(slots, [&](const dump::Slot* slot) { return count_of(*slot) == count; }) >
             1;
    };
    std::vector<std::tuple<double, std::size_t, std::size_t>> near;
    for (std::size_t g = 0; g < golden_.size(); ++g) {
      const std::uint64_t count = count_of(*golden_[g]);
      if (!are_several(golden_, count) && !are_several(actual_, count)) continue;
      const auto print = print_of(*golden_[g]);
      for (std::size_t a = 0; print && a < actual_.size(); ++a) {
        const auto other = count_of(*actual_[a]) == count ? print_of(*actual_[a]) : std::nullopt;
        if (const double far = other ? distance(*print, *other) : kSame; far < kSame)
          near.emplace_back(far, g, a);
      }
    }
    std::ranges::sort(near);
    for (const auto& [far, g, a] : near)
      if (is_open(g, a)) set(g, a);
  }

  template <typename Fits>
  void join(const Fits& fits) {
    for (std::size_t g = 0; g < golden_.size(); ++g)
      for (std::size_t a = 0; a < actual_.size(); ++a)
        if (is_open(g, a) && fits(*golden_[g], *actual_[a])) set(g, a);
  }

  std::vector<const dump::Slot*> golden_, actual_;
  std::vector<std::size_t> partners_;
  std::vector<bool> is_taken_;
};

const dump::Slot* first_output(const dump::OperatorRun& run) {
  const auto slot = std::ranges::find(run.slots, model::Side::output, &dump::Slot::side);
  return slot == run.slots.end() ? nullptr : &*slot;
}

bool return_the_same(const dump::OperatorRun& golden, const dump::OperatorRun& actual) {
  const dump::Slot *const g = first_output(golden), *const a = first_output(actual);
  const auto print = g ? print_of(*g) : std::nullopt, other = a ? print_of(*a) : std::nullopt;
  return print && other && distance(*print, *other) < kSame;
}

// How many slots of one side of `golden` can have a counterpart. Each framework has its own statistics that a
// batch normalisation returns for its gradient: the variance, its inverse root, or running ones. In training
// it does not use the running ones among its inputs, which some frameworks have changed by then.
std::size_t count_common(const dump::OperatorRun& golden, const dump::OperatorRun& actual, model::Side side,
                         bool has_other_weights) {
  const std::string kind = kind_of(golden.type).name;
  const bool is_norm = kind == "batchnorm";
  // Beside its result a normalisation returns a variance in MindSpore, 1/sqrt(variance + epsilon) elsewhere.
  const bool has_other_statistics =
      is_norm || ((kind == "layernorm" || kind == "groupnorm") && golden.type != actual.type);
  if (side == model::Side::output) return has_other_statistics ? 1 : SIZE_MAX;
  if (has_other_weights) return 1;
  constexpr std::size_t kWithoutStatistics = 3;
  return is_norm && return_the_same(golden, actual) ? kWithoutStatistics : SIZE_MAX;
}

// What a model says of the layouts that ONNX Runtime has given it.
struct Layouts {
  bool has_blocks = false;          // of a graph as an engine executes it, too
  bool is_saved_in_blocks = false;  // of a graph as written
  std::set<std::string> transpositions;
};
Layouts layouts_of(const dump::Runs& runs) {
  Layouts layouts;
  for (std::uint32_t i = 0; i < runs.size(); ++i) {
    const dump::OperatorRun run = runs.without_slots(i);
    const bool is_written = run.originals() == nullptr;
    if (run.type == "ReorderInput" || run.type == "ReorderOutput") {
      layouts.has_blocks = true;
      layouts.is_saved_in_blocks |= is_written;
    }
    if (run.type == "Transpose" && is_written) layouts.transpositions.insert(run.name);
  }
  return layouts;
}

// Whether a transposition has gone, and there is one with the name that ONNX Runtime gives to those that it
// moves.
bool has_moved_axes(const std::set<std::string>& before, const std::set<std::string>& after) {
  const auto is_new = [&](const std::string& name) {
    return !before.contains(name) && (name == "Transpose" || name.starts_with("Transpose_token_"));
  };
  return std::ranges::any_of(after, is_new) && !std::ranges::includes(after, before);
}

// Whether an operator of a name gives a tensor with its axes in another order.
bool have_permuted_results(const dump::Runs& golden, const dump::Runs& actual) {
  std::map<std::string, model::Shape> shapes;
  for (std::uint32_t i = 0; i < golden.size(); ++i) {
    const dump::OperatorRun run = golden[i];
    const dump::Slot* const slot = first_output(run);
    if (slot != nullptr && slot->shape && run.originals() == nullptr) shapes.emplace(run.name, *slot->shape);
  }
  for (std::uint32_t i = 0; i < actual.size(); ++i) {
    const dump::OperatorRun run = actual[i];
    const dump::Slot* const slot = first_output(run);
    const auto same = shapes.find(run.name);
    if (slot == nullptr || !slot->shape || same == shapes.end() || run.originals() != nullptr) continue;
    if (!(same->second == *slot->shape) &&
        std::ranges::is_permutation(same->second.dims(), slot->shape->dims()))
      return true;
  }
  return false;
}

}  // namespace

bool are_of_different_frameworks(const dump::DumpSet& golden, const dump::DumpSet& actual) {
  const std::set<std::string_view> g = frameworks_of(golden), a = frameworks_of(actual);
  return g.size() == 1 && a.size() == 1 && g != a;
}

bool is_one_saved_in_other_layout(const dump::Runs& golden, const dump::Runs& actual) {
  const Layouts g = layouts_of(golden), a = layouts_of(actual);
  if ((g.is_saved_in_blocks && !a.has_blocks) || (a.is_saved_in_blocks && !g.has_blocks)) return true;
  const bool has_moved = has_moved_axes(g.transpositions, a.transpositions) ||
                         has_moved_axes(a.transpositions, g.transpositions);
  return has_moved && have_permuted_results(golden, actual);
}

Result<PairingMap> parse_pairing_map(std::string_view text) {
  PairingMap map;
  constexpr std::string_view kSpace = " \t\r";
  std::size_t number = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    std::vector<std::string> names;
    while (line.find_first_not_of(kSpace) != std::string_view::npos) {
      line.remove_prefix(line.find_first_not_of(kSpace));
      const std::size_t length = std::min(line.find_first_of(kSpace), line.size());
      names.emplace_back(line.substr(0, length));
      line.remove_prefix(length);
    }
    if (names.empty() || names[0].starts_with('#')) continue;
    if (names.size() != 2 || (names[0] == "-" && names[1] == "-"))
      return Error(Code::usage,
                   "line " + std::to_string(number) +
                       ": expected the name of an operator of GOLDEN and one of ACTUAL, '-' for none");
    for (std::string& name : names)
      if (name == "-") name.clear();
    map.emplace_back(std::move(names[0]), std::move(names[1]));
  }
  return map;
}

Result<Pairing> pair_across(const dump::Runs& golden, const dump::Runs& actual, const TailsOfBoth& tails,
                            const PairingMap& map, unsigned threads) {
  Pairing pairing;
  Account account;
  std::vector<bool> used(map.size());
  for (const auto& frames :
       pair_frames(frames_of(golden, tails.golden), frames_of(actual, tails.actual), pairing.notes)) {
    FramePairs pairs(golden, actual, frames, threads);
    pairs.declare(map, used);
    pairs.append_to(pairing, account);
  }
  for (std::size_t i = 0; i < map.size(); ++i)
    if (!used[i])
      return Error(Code::usage, "no step has the operators \"" + map[i].first + "\" of golden and \"" +
                                    map[i].second + "\" of actual");
  account.append_to(pairing.notes);
  return pairing;
}

std::vector<SlotPair> pair_slots_across(const dump::OperatorRun& golden, const dump::OperatorRun& actual,
                                        bool has_other_weights) {
  std::vector<SlotPair> pairs;
  for (const model::Side side : {model::Side::input, model::Side::output}) {
    const auto slots_of = [&](const dump::OperatorRun& run) {
      std::vector<const dump::Slot*> slots;
      for (const dump::Slot& slot : run.slots)
        if (slot.side == side) slots.push_back(&slot);
      return slots;
    };
    const std::vector<const dump::Slot*> all = slots_of(golden), others = slots_of(actual);
    const std::size_t common = std::min(count_common(golden, actual, side, has_other_weights), all.size());
    const SlotMatch match({all.begin(), all.begin() + static_cast<std::ptrdiff_t>(common)}, others);
    std::vector<bool> is_paired(others.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      std::size_t found = i < common ? match.partner(i) : SIZE_MAX;
      const bool is_result = side == model::Side::output && all[i]->index == 0 && !others.empty();
      if (found == SIZE_MAX && is_result && !is_paired[0]) found = 0;  // of another size
      pairs.push_back({all[i], found == SIZE_MAX ? nullptr : others[found]});
      if (found != SIZE_MAX) is_paired[found] = true;
    }
    for (std::size_t i = 0; i < others.size(); ++i)
      if (!is_paired[i]) pairs.push_back({nullptr, others[i]});
  }
  return pairs;
}

dump::OperatorRun join_runs(const dump::Runs& runs, std::uint32_t first, std::uint32_t last) {
  dump::OperatorRun whole = runs[last];
  if (first == last || first == OperatorPair::kNone) return whole;
  whole.is_joined = true;
  std::erase_if(whole.slots, [](const dump::Slot& slot) { return slot.side == model::Side::input; });
  dump::OperatorRun before = runs[first];
  std::erase_if(before.slots, [](const dump::Slot& slot) { return slot.side == model::Side::output; });
  whole.slots.insert(whole.slots.begin(), std::make_move_iterator(before.slots.begin()),
                     std::make_move_iterator(before.slots.end()));
  return whole;
}

}  // namespace opdump::compare
