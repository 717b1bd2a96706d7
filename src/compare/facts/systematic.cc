#include "compare/facts/systematic.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <set>
#include <string_view>

#include "base/text/text.h"
#include "compare/facts/arguments.h"
#include "compare/facts/compiled_regions.h"
#include "compare/facts/one_sided_operators.h"
#include "compare/names.h"
#include "model/shape.h"

namespace opdump::compare {
namespace {

using dump::Runs;
using dump::Slot;

constexpr std::size_t kMostModules = 4;  // in notes

std::optional<Slot> first_output(const Runs& runs, std::size_t index) {
  for (const Slot& slot : runs.slots(index))
    if (slot.side == model::Side::output && slot.dtype != model::DType::undefined && slot.has_data())
      return slot;
  return std::nullopt;
}

// First axes of shapes that have the other axes in common, by those of golden and of actual.
using Batches = std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t>;

void note_batch(const Slot& golden, const Slot& actual, Batches& batches) {
  if (!golden.shape || !actual.shape) return;
  const auto g = golden.shape->dims(), a = actual.shape->dims();
  if (g.empty() || g.size() != a.size() || g[0] == a[0] || !std::equal(g.begin() + 1, g.end(), a.begin() + 1))
    return;
  ++batches[{g[0], a[0]}];
}

// The commonest one, if not of a single operator nor of few of the `outputs`, as the rows of an expert; of
// equally common ones the smallest: others are multiples.
std::vector<std::string> describe_batches(const Batches& batches, std::uint64_t outputs) {
  constexpr std::uint64_t kLeastShare = 32;
  const auto most = std::ranges::max_element(batches, {}, &Batches::value_type::second);
  if (most == batches.end() || most->second < 2 || most->second * kLeastShare < outputs) return {};
  return {"batch " + std::to_string(most->first.first) + " against " + std::to_string(most->first.second) +
          ": the first axis of " + counted(most->second, "output")};
}

// "Default/blocks/11-Block" of a forward or backward operator; empty: it is in no module.
std::string_view module_of(std::string_view name) {
  name = model::without_gradients(name);
  const std::size_t slash = name.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : name.substr(0, slash);
}

// How many outputs have the same type in both runs, and how many another one.
struct TypeCounts {
  std::uint64_t equal = 0, other = 0;
  void add(bool are_equal) { ++(are_equal ? equal : other); }
};

// Calls `take` with the module and those around it, outermost first.
void for_each_module(std::string_view module, const std::function<bool(std::string_view)>& take) {
  for (std::size_t end = module.find('/');; end = module.find('/', end + 1)) {
    if (module.empty() || take(module.substr(0, end)) || end == std::string_view::npos) return;
  }
}

// Modules of `runs` in which no operator of `others` ran, the outermost ones.
class AbsentModules {
 public:
  AbsentModules(const Runs& runs, const Runs& others) : runs_(&runs), others_(&others) {}

  void add(std::uint32_t index) { indices_.push_back(index); }
  // An operator whose partner is in a module of another name.
  void add_moved(std::uint32_t index) { moved_.push_back(index); }
  // Operators of `runs` without a partner.
  const std::vector<std::uint32_t>& unpaired() const { return indices_; }

  void append_to(std::vector<std::string>& notes, std::string_view side) const {
    if (indices_.empty() || !others_->have_operators() || !runs_->have_operators()) return;
    std::set<std::string, std::less<>> present;
    const auto note_present = [&](const dump::OperatorRun& run) {
      if (run.op == nullptr || present.contains(module_of(run.op->name))) return;
      for_each_module(module_of(run.op->name), [&](std::string_view module) {
        present.emplace(module);
        return false;
      });
    };
    for (std::size_t i = 0; i < others_->size(); ++i) note_present(others_->without_slots(i));
    for (const std::uint32_t index : moved_) note_present(runs_->without_slots(index));
    std::map<std::string, std::uint64_t, std::less<>> absent;  // with how many operators
    for (const std::uint32_t index : indices_) {
      const auto run = runs_->without_slots(index);
      if (run.op == nullptr) continue;
      for_each_module(module_of(run.op->name), [&](std::string_view module) {
        if (present.contains(module)) return false;
        ++absent[std::string(module)];
        return true;
      });
    }
    std::size_t count = 0;
    for (const auto& [module, operators] : absent) {
      if (++count > kMostModules) break;
      notes.push_back("module " + one_line(module) + " is absent in " + std::string(side) + " (" +
                      counted(operators, "operator") + ")");
    }
    if (absent.size() > kMostModules)
      notes.push_back(counted(absent.size() - kMostModules, "more module") +
                      (absent.size() == kMostModules + 1 ? " is" : " are") + " absent in " +
                      std::string(side));
  }

 private:
  const Runs *runs_, *others_;
  std::vector<std::uint32_t> indices_;  // without a partner
  std::vector<std::uint32_t> moved_;
};

// What `runs`, one side with `unpaired` operators, lacks of the other one.
void note_absent(const Runs& runs, const std::vector<std::uint32_t>& unpaired, std::string_view side,
                 const AbsentModules& lacking, std::vector<std::string>& notes) {
  if (auto regions = describe_regions(runs, unpaired, side))
    notes.push_back(std::move(*regions));
  else
    lacking.append_to(notes, side);
}

}  // namespace

SystematicDifferences find_systematic(const Runs& golden, const Runs& actual,
                                      const std::vector<OperatorPair>& pairs, const Unfinished& unfinished,
                                      bool notes_batches) {
  SystematicDifferences found;
  Batches batches;
  AbsentModules of_golden(golden, actual), of_actual(actual, golden);
  std::uint64_t outputs = 0, named = 0, unnamed = 0;
  TypeCounts all, within, within_casts;  // of operators within modules; of those that autocast may cast
  const bool has_state = golden.have_call_state() || actual.have_call_state();
  std::map<std::string, std::uint64_t> autocast;  // how many operators it differs in, by how
  for (const OperatorPair& pair : pairs) {
    const bool is_golden = pair.golden != OperatorPair::kNone, is_actual = pair.actual != OperatorPair::kNone;
    if (is_golden && is_actual) {
      ++(pair.paired_by == PairedBy::name || pair.paired_by == PairedBy::alignment ? named : unnamed);
      if (pair.paired_by == PairedBy::path) {
        of_golden.add_moved(pair.golden);
        of_actual.add_moved(pair.actual);
      }
      std::string casts;
      if (has_state)
        casts = find_state_difference(golden.form_of(pair.golden).get(), actual.form_of(pair.actual).get())
                    .autocast;
      if (!casts.empty()) ++autocast[casts];
      const auto g = first_output(golden, pair.golden), a = first_output(actual, pair.actual);
      if (!g || !a) continue;
      ++outputs;
      note_batch(*g, *a, batches);
      if (!model::is_floating(g->dtype) || !model::is_floating(a->dtype)) continue;
      all.add(g->dtype == a->dtype);
      const auto run = golden.without_slots(pair.golden);
      if (run.op != nullptr && run.op->phase != model::Phase::optimizer &&
          module_of(run.op->name).find('/') != std::string_view::npos) {
        within.add(g->dtype == a->dtype);
        if (run.op->phase == model::Phase::forward) within_casts.add(casts.empty());
      }
      if (g->dtype != a->dtype) ++found.types[{g->dtype, a->dtype}];
    } else if (!pair.is_alone && pair.fusion == Fusion::none) {
      if (is_golden && !unfinished.excuses_actual(golden.without_slots(pair.golden)))
        of_golden.add(pair.golden);
      if (is_actual && !unfinished.excuses_golden(actual.without_slots(pair.actual)))
        of_actual.add(pair.actual);
    }
  }
  // A program makes its weights outside of the modules, and often casts them later. Under autocast some
  // operators of a network compute in the type of the weights.
  const TypeCounts& types = within.equal + within.other > 0 ? within : all;
  found.are_types_usual =
      types.other > types.equal || (types.other > 0 && within_casts.other > within_casts.equal);
  for (const auto& [types, count] : found.types)
    found.notes.push_back("golden is " + std::string(model::dtype_info(types.first).name) + " and actual " +
                          std::string(model::dtype_info(types.second).name) + " in " +
                          counted(count, "operator"));
  for (const auto& [how, count] : autocast) found.notes.push_back(how + ", in " + counted(count, "operator"));
  if (notes_batches) std::ranges::move(describe_batches(batches, outputs), std::back_inserter(found.notes));
  const auto add_notes = [&](std::vector<std::string> notes) {
    std::ranges::move(notes, std::back_inserter(found.notes));
  };
  if (named > unnamed) {  // else modules of the two have other names: another framework, a wrapper
    add_notes(describe_optimizers(golden, of_golden.unpaired(), actual, of_actual.unpaired()));
    add_notes(describe_broadcast(golden, of_golden.unpaired(), "golden"));
    add_notes(describe_broadcast(actual, of_actual.unpaired(), "actual"));
    note_absent(actual, of_actual.unpaired(), "actual", of_golden, found.notes);
    note_absent(golden, of_golden.unpaired(), "golden", of_actual, found.notes);
  }
  return found;
}

}  // namespace opdump::compare
