#include "compare/pairing.h"

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "base/text/text.h"
#include "compare/across/operator_kind.h"
#include "compare/names.h"
#include "compare/runs/alignment.h"
#include "compare/runs/run_keys.h"
#include "dump/file_name.h"
#include "group/shared_work.h"

namespace opdump::compare {
namespace {

using dump::OperatorRun;
using dump::Runs;
using dump::Slot;

constexpr std::uint32_t kNone = OperatorPair::kNone;

// What must be equal of two executions apart from their names; a field that has one value on each side is the
// same for all.
struct SectionKey {
  std::int64_t rank = 0, step = 0;                      // the order of a dump
  bool is_tail = false;                                 // it is what ran after the last step
  auto operator<=>(const SectionKey&) const = default;  // NOLINT(modernize-use-nullptr): not a pointer
};
bool is_tail(const Runs::Section& section, const Tails& tails) {
  const auto tail = tails.find(section.rank);
  return tail != tails.end() && tail->second >= 0 && section.step >= tail->second;
}

struct FrameRule {
  bool rank = true, graph = true, step = true;

  SectionKey of(const Runs::Section& section, const Tails& tails) const {
    return {rank ? static_cast<std::int64_t>(section.rank) : 0, step ? section.step : 0,
            is_tail(section, tails)};
  }
  std::int64_t graph_of(const Runs::Section& section) const { return graph ? section.graph_id : 0; }
};

template <typename Field>
std::optional<std::int64_t> single_value(const Runs& runs, const Tails& tails, Field field) {
  std::optional<std::int64_t> single;
  for (std::uint32_t i = 0; i < runs.section_count(); ++i) {
    if (is_tail(runs.section(i), tails)) continue;
    const std::int64_t value = field(runs.section(i));
    if (single.value_or(value) != value) return std::nullopt;
    single = value;
  }
  return single;
}

// True if the field must be equal. Adds a note where two single values differ.
template <typename Field>
bool needs_equal(std::string_view name, const Runs& golden, const Runs& actual, const TailsOfBoth& tails,
                 Field field, std::vector<std::string>& notes) {
  const auto g = single_value(golden, tails.golden, field), a = single_value(actual, tails.actual, field);
  if (!g || !a) return true;
  if (*g != *a)
    notes.push_back(std::string(name) + " " + std::to_string(*g) + " of golden is compared with " +
                    std::string(name) + " " + std::to_string(*a) + " of actual, the only one there");
  return false;
}

std::string shape_text(const Slot& slot) {
  if (slot.shape) return model::format_shape(*slot.shape);
  if (slot.file.empty()) return "?";
  const auto tensor = dump::StoredTensor::read(slot);
  return tensor ? model::format_shape(tensor->view().shape) : "?";
}

// What two operators of different names must have in common to be taken for the same one.
std::string signature(const Runs& runs, std::size_t index) {
  const OperatorRun run = runs.without_slots(index);
  std::string text = scope_of(run) + '\n' + run.type + '\n';
  for (const Slot& slot : runs.slots(index))
    group::note_seen(
        text, (slot.side == model::Side::input ? "i" : "o") + std::to_string(slot.index) + shape_text(slot));
  return text;
}

// "gradient_tape/Mul/Mul" of "gradient_tape/Mul/Mul_4": TensorFlow numbers the operators of a type.
std::string_view without_number_of_type(std::string_view name, std::string_view type) {
  const std::size_t end = name.find_last_not_of("0123456789");
  if (end == std::string_view::npos) return name;
  const std::string_view base = end + 1 < name.size() && name[end] == '_' ? name.substr(0, end) : name;
  const std::string_view last = base.substr(base.rfind('/') + 1);
  return to_lower(last) == to_lower(type) ? base : name;
}

std::string_view without_number(std::string_view name, std::string_view type) {
  const std::size_t end = name.find_last_not_of("0123456789");
  if (end == std::string_view::npos || !name.substr(0, end + 1).ends_with("op"))
    return without_number_of_type(name, type);
  name = name.substr(0, end - 1);
  // One separator: "add_-op3" is of the type add_, not add.
  if (name.ends_with('-') || name.ends_with('_')) name.remove_suffix(1);
  return name;
}

// The executions of one frame.
struct FrameRuns {
  const Runs* runs = nullptr;
  std::uint32_t first = 0, last = 0;
  std::vector<std::uint32_t> partners{};  // of each: from the first of the other part, or kNone
  std::vector<PairedBy> methods{};        // of each; of golden only
  std::vector<Fusion> fusions{};          // of each; empty: none

  std::uint32_t size() const { return last - first; }
  const Runs::Section& section_of(std::uint32_t i) const { return runs->section_of(first + i); }
};

// As far as they are known without a look into files.
std::string shapes_of(const FrameRuns& part, std::uint32_t i) {
  std::string shapes;
  for (const Slot& slot : part.runs->slots(part.first + i))
    shapes += slot.shape ? model::format_shape(*slot.shape) : "?";
  return shapes;
}

// Pairs what two dumps have in one frame.
class FramePairing {
 public:
  FramePairing(FrameRuns golden, FrameRuns actual, const FrameRule& rule)
      : golden_(std::move(golden)), actual_(std::move(actual)), rule_(&rule) {
    for (FrameRuns* part : {&golden_, &actual_}) part->partners.assign(part->size(), kNone);
    golden_.methods.assign(golden_.size(), PairedBy::none);
  }

  // Where one side has more operators of a kind in a scope, equal numbers are not the same operators: those
  // whose shapes and neighbours agree are joined, in order. Operators of data-loading workers are not: of
  // them only the last are missing. Returns how many.
  std::uint32_t join_sequences();

  // Where a dump is a log of DebugMode: those of a type in modules of one path, and then all of a type, in
  // order, or by shapes and neighbours where one side has more.
  void join_paths();

  // Of what then has no partner, leaves out what the log of DebugMode need not have: what ran before or after
  // it; and what only moves data, which a recording does not list in each step. Returns how many ran outside.
  std::uint32_t leave_out_unlogged();

  void join_names() {
    const auto name = [](const FrameRuns& part, std::uint32_t i) {
      return name_of(part.runs->without_slots(part.first + i));
    };
    join_equal(rule_->graph, PairedBy::name, name);
    // Layouts spell a name with more or with fewer characters of the program's.
    join_equal(rule_->graph, PairedBy::name,
               [&](const FrameRuns& part, std::uint32_t i) { return dump::plain_name(name(part, i)); });
    // A model that is loaded in another order has another number.
    join_equal(false, PairedBy::graph, name);
  }

  // Where one side has operators more, two of a name in their scope whose shapes differ are not the same
  // operator, and stay alone. If most shapes differ, the data has another shape, and names hold.
  void separate_reshaped();

  // The usual case, and cheap to recognise.
  bool has_equal_names() const;

  void note_fusions(bool& has_fused) {
    if (!has_open(golden_) && !has_open(actual_)) return;
    note_fusions(golden_, actual_, has_fused);
    note_fusions(actual_, golden_, has_fused);
  }

  // Shapes may have to be read from files: only for what names did not settle.
  void join_signatures() {
    std::set<std::int64_t> open_graphs;
    for (std::uint32_t g = 0; g < golden_.size(); ++g)
      if (golden_.partners[g] == kNone) open_graphs.insert(rule_->graph_of(golden_.section_of(g)));
    join_equal(rule_->graph, PairedBy::shapes, [&](const FrameRuns& part, std::uint32_t i) {
      const bool is_open =
          open_graphs.contains(rule_->graph_of(part.section_of(i))) && !states_originals(part, i);
      return is_open ? signature(*part.runs, part.first + i) : std::string();
    });
  }

  void join(std::uint32_t g, std::uint32_t a, PairedBy method) {
    golden_.partners[g] = a;
    golden_.methods[g] = method;
    actual_.partners[a] = g;
  }
  bool is_joined(std::uint32_t g) const { return golden_.partners[g] != kNone; }
  // Everything has a partner.
  bool is_whole() const {
    if (golden_.size() != actual_.size()) return false;
    for (std::uint32_t g = 0; g < golden_.size(); ++g)
      if (!is_joined(g)) return false;
    return true;
  }

  void append_pairs(std::vector<OperatorPair>& pairs) const;

 private:
  static bool states_originals(const OperatorRun& run) { return run.op != nullptr && run.op->original_names; }
  static bool states_originals(const FrameRuns& part, std::uint32_t i) {
    return states_originals(part.runs->without_slots(part.first + i));
  }
  // Joins what has no partner and one kind, which `kind_of` gives or not: by shapes and neighbours where one
  // side has more, else, if `joins_all`, in order. Returns how many by shapes.
  template <typename KindOf>
  std::uint32_t join_kinds(const KindOf& kind_of, bool joins_all, bool reads_tensors);
  static bool has_open(const FrameRuns& part) {
    for (std::uint32_t i = 0; i < part.size(); ++i)
      if (part.partners[i] == kNone) return true;
    return false;
  }
  // What an engine made of others goes by the last of these, which gives what it gives.
  static std::string name_of(const OperatorRun& run) {
    return states_originals(run) && !run.op->original_names->empty() ? run.op->original_names->back()
                                                                     : run.name;
  }

  // Which operators of `made` an engine made of several in `whole`, or put in, and which of these have no
  // partner because of that.
  static void note_fusions(FrameRuns& made, FrameRuns& whole, bool& has_fused) {
    for (FrameRuns* part : {&made, &whole}) part->fusions.resize(part->size(), Fusion::none);
    RunKeys originals, open;
    for (std::uint32_t i = 0; i < made.size(); ++i) {
      const OperatorRun run = made.runs->without_slots(made.first + i);
      if (!states_originals(run)) continue;
      if (run.op->original_names->empty() && made.partners[i] == kNone) made.fusions[i] = Fusion::added;
      for (const std::string& name : *run.op->original_names) originals.add(i, 0, dump::plain_name(name));
    }
    for (std::uint32_t i = 0; i < whole.size(); ++i)
      if (whole.partners[i] == kNone)
        open.add(i, 0, dump::plain_name(whole.runs->without_slots(whole.first + i).name));
    RunKeys::match(originals, open, [&](std::uint32_t fused, std::uint32_t part) {
      made.fusions[fused] = Fusion::fused;
      whole.fusions[part] = Fusion::part;
      has_fused = true;
    });
  }
  // Whether a run has a constant of ONNX, which engines fold, is seen in what reads it.
  static Fusion fusion_of(const FrameRuns& part, std::uint32_t i) {
    const bool is_constant = i != kNone && part.runs->without_slots(part.first + i).type == "Constant";
    return is_constant ? Fusion::makes : i == kNone || part.fusions.empty() ? Fusion::none : part.fusions[i];
  }

  // Joins what has no partner yet and agrees in its key, in order of execution.
  template <typename KeyOf>
  void join_equal(bool by_graph, PairedBy method, const KeyOf& key_of) {
    RunKeys golden, actual;
    for (const auto& [part, keys] : {std::pair(&golden_, &golden), std::pair(&actual_, &actual)})
      for (std::uint32_t i = 0; i < part->size(); ++i)
        if (part->partners[i] == kNone)
          keys->add(i, by_graph ? part->section_of(i).graph_id : 0, key_of(*part, i));
    RunKeys::match(golden, actual, [&](std::uint32_t g, std::uint32_t a) { join(g, a, method); });
  }

  FrameRuns golden_, actual_;
  const FrameRule* rule_;
};

bool FramePairing::has_equal_names() const {
  if (golden_.size() != actual_.size()) return false;
  for (std::uint32_t i = 0; i < golden_.size(); ++i)
    if (golden_.runs->without_slots(golden_.first + i).name !=
        actual_.runs->without_slots(actual_.first + i).name)
      return false;
  return true;
}

template <typename KindOf>
std::uint32_t FramePairing::join_kinds(const KindOf& kind_of, bool joins_all, bool reads_tensors) {
  using Group = std::pair<std::vector<std::uint32_t>, std::vector<std::uint32_t>>;  // of golden, of actual
  std::map<std::pair<std::int64_t, std::string>, Group> groups;
  std::vector<std::string> kinds[2];
  for (const FrameRuns* part : {&golden_, &actual_})
    for (std::uint32_t i = 0; i < part->size(); ++i) {
      const OperatorRun run = part->runs->without_slots(part->first + i);
      const std::optional<std::string> kind = kind_of(run);
      kinds[part == &actual_].push_back(kind.value_or(run.name));
      if (!kind || part->partners[i] != kNone) continue;
      Group& group = groups[{rule_->graph_of(part->section_of(i)), *kind}];
      (part == &golden_ ? group.first : group.second).push_back(i);
    }
  const auto place_of = [&](const FrameRuns& part, const std::vector<std::string>& around, std::uint32_t i) {
    const OperatorRun run = part.runs->without_slots(part.first + i);
    Surroundings place;
    place.name = run.name;
    place.before = neighbour_with_data(*part.runs, part.first, around, i, -1);
    place.after = neighbour_with_data(*part.runs, part.first, around, i, 1);
    if (run.op != nullptr) place.source = model::format_source(*run.op);
    place.shapes = shapes_of(part, i);
    if (reads_tensors)
      for (const Slot& slot : part.runs->slots(part.first + i)) place.norms.push_back(sample_norm(slot));
    return place;
  };
  std::uint32_t joined = 0;
  for (const auto& [kind, group] : groups) {
    const auto& [of_golden, of_actual] = group;
    if (of_golden.empty() || of_actual.empty()) continue;
    if (of_golden.size() == of_actual.size() || of_golden.size() > kMaxAlignment / of_actual.size()) {
      for (std::size_t i = 0; joins_all && i < std::min(of_golden.size(), of_actual.size()); ++i)
        join(of_golden[i], of_actual[i], PairedBy::path);
      continue;
    }
    std::vector<Surroundings> g, a;
    for (const std::uint32_t i : of_golden) g.push_back(place_of(golden_, kinds[0], i));
    for (const std::uint32_t i : of_actual) a.push_back(place_of(actual_, kinds[1], i));
    for (const auto& [i, j] : align(g, a)) join(of_golden[i], of_actual[j], PairedBy::alignment);
    joined += static_cast<std::uint32_t>(std::min(g.size(), a.size()));
  }
  return joined;
}

std::uint32_t FramePairing::join_sequences() {
  if (has_equal_names()) return 0;
  return join_kinds(
      [](const OperatorRun& run) -> std::optional<std::string> {
        const bool is_numbered = run.op != nullptr && !states_originals(run) && !runs_ahead(run);
        if (!is_numbered) return std::nullopt;
        return std::string(without_number(run.op->name, run.type));
      },
      false, true);
}

// But for the size of the first axis, as with another batch. Empty if one is not known.
std::vector<std::vector<std::int64_t>> inner_shapes(const FrameRuns& part, std::uint32_t i) {
  std::vector<std::vector<std::int64_t>> shapes;
  for (const Slot& slot : part.runs->slots(part.first + i)) {
    if (!slot.shape) return {};
    shapes.emplace_back(slot.shape->dims().begin(), slot.shape->dims().end());
    if (!shapes.back().empty()) shapes.back().front() = 0;
  }
  return shapes;
}

void FramePairing::separate_reshaped() {
  std::set<std::string> open;  // scopes
  for (const FrameRuns* part : {&golden_, &actual_})
    for (std::uint32_t i = 0; i < part->size(); ++i)
      if (part->partners[i] == kNone) open.insert(scope_of(part->runs->without_slots(part->first + i)));
  if (open.empty()) return;
  std::size_t joined = 0;
  std::vector<std::uint32_t> reshaped;
  for (std::uint32_t g = 0; g < golden_.size(); ++g) {
    if (!is_joined(g)) continue;
    ++joined;
    const std::uint32_t a = golden_.partners[g];
    if (states_originals(golden_, g) || states_originals(actual_, a)) continue;  // it reads what others read
    const auto of_golden = inner_shapes(golden_, g), of_actual = inner_shapes(actual_, a);
    if (!of_golden.empty() && !of_actual.empty() && of_golden != of_actual) reshaped.push_back(g);
  }
  if (2 * reshaped.size() > joined) return;
  for (const std::uint32_t g : reshaped) {
    if (!open.contains(scope_of(golden_.runs->without_slots(golden_.first + g)))) continue;
    actual_.partners[golden_.partners[g]] = kNone;
    golden_.partners[g] = kNone;
    golden_.methods[g] = PairedBy::none;
  }
}

// The modules of an operator, whatever their classes; empty outside of modules, and in the backward pass.
std::string path_of(const OperatorRun& run) {
  if (run.op == nullptr || run.op->name.starts_with(model::kGradients)) return {};
  return module_path(run.op->name);
}

void FramePairing::join_paths() {
  const auto has_modules = [](const FrameRuns& part) {
    for (std::uint32_t i = 0; i < part.size(); ++i) {
      const OperatorRun run = part.runs->without_slots(part.first + i);
      const bool is_of_optimizer = run.op != nullptr && run.op->phase == model::Phase::optimizer;
      if (!is_of_optimizer && !path_of(run).empty()) return true;
    }
    return false;
  };
  if (has_modules(golden_) && has_modules(actual_))
    join_kinds([](const OperatorRun& run) { return std::optional(path_of(run) + '/' + run.type); }, true,
               false);
  join_kinds([](const OperatorRun& run) { return std::optional(run.type); }, true, false);
  // Where DebugMode is on, gradients are added by add, else by add_.
  join_kinds(
      [](const OperatorRun& run) {
        return std::optional(run.type.substr(0, run.type.size() - run.type.ends_with('_')));
      },
      true, false);
}

std::uint32_t FramePairing::leave_out_unlogged() {
  std::uint32_t unlogged = 0;
  for (FrameRuns* part : {&golden_, &actual_}) {
    const auto is_open = [&](std::uint32_t partner) { return partner == kNone; };
    const auto first = std::ranges::find_if_not(part->partners, is_open) - part->partners.begin();
    const auto last = std::find_if_not(part->partners.rbegin(), part->partners.rend(), is_open).base() -
                      part->partners.begin();
    part->fusions.assign(part->size(), Fusion::none);
    for (std::uint32_t i = 0; i < part->size(); ++i) {
      if (part->partners[i] != kNone) continue;
      const OperatorRole role = kind_of(part->runs->without_slots(part->first + i).type).role;
      const bool is_outside = part->runs->have_full_scopes() && (i < first || i >= last);
      part->fusions[i] = is_outside                    ? Fusion::unlogged
                         : role == OperatorRole::moves ? Fusion::moves
                         : role == OperatorRole::makes ? Fusion::makes
                                                       : Fusion::none;
      unlogged += is_outside;
    }
  }
  return unlogged;
}

// Golden in order; before each of it the extras that ran after the partner of the one before it.
void FramePairing::append_pairs(std::vector<OperatorPair>& pairs) const {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> extras;  // before which of golden, which
  std::uint32_t anchor = 0;
  for (std::uint32_t a = 0; a < actual_.size(); ++a) {
    const std::int64_t graph = rule_->graph_of(actual_.section_of(a));
    if (a == 0 || graph != rule_->graph_of(actual_.section_of(a - 1)))
      for (anchor = 0; anchor < golden_.size() && rule_->graph_of(golden_.section_of(anchor)) < graph;)
        ++anchor;
    if (actual_.partners[a] != kNone)
      anchor = actual_.partners[a] + 1;
    else
      extras.emplace_back(anchor, a);
  }
  std::ranges::sort(extras);
  auto extra = extras.begin();
  for (std::uint32_t g = 0; g <= golden_.size(); ++g) {
    for (; extra != extras.end() && extra->first == g; ++extra)
      pairs.push_back(
          {kNone, actual_.first + extra->second, golden_.size() == 0, fusion_of(actual_, extra->second)});
    if (g == golden_.size()) break;
    const std::uint32_t a = golden_.partners[g];
    const Fusion fusion = std::max(fusion_of(golden_, g), fusion_of(actual_, a));
    pairs.push_back({golden_.first + g, a == kNone ? kNone : actual_.first + a, actual_.size() == 0, fusion,
                     a != kNone && fusion == Fusion::fused ? PairedBy::fusion : golden_.methods[g]});
  }
}

// A single tensor, which is called as its file happens to be.
bool is_loose(const Runs& runs) {
  if (runs.size() != 1 || runs.slot_count(0) != 1) return false;
  const OperatorRun run = runs.without_slots(0);
  return run.op == nullptr && run.type.empty();
}

// Two files that hold a tensor each are about the same one.
void join_loose(const Runs& golden, const Runs& actual, FramePairing& pairing,
                std::vector<std::string>& notes) {
  if (!is_loose(golden) || !is_loose(actual) || pairing.is_joined(0)) return;
  pairing.join(0, 0, PairedBy::file);
  notes.push_back(golden.without_slots(0).name + " of golden is compared with " +
                  actual.without_slots(0).name + " of actual, the only tensor there");
}

// The executions of the frame that the one at `first` belongs to.
FrameRuns part_at(const Runs& runs, std::uint32_t first, const FrameRule& rule, const Tails& tails) {
  FrameRuns part{&runs, first, first};
  while (part.last < runs.size() &&
         rule.of(runs.section_of(part.last), tails) == rule.of(runs.section_of(first), tails))
    ++part.last;
  return part;
}

// Of a frame that is left out: what ran after the last step.
std::string describe_tail(std::int64_t rank, std::uint32_t golden, std::uint32_t actual) {
  const std::string where = "rank " + std::to_string(rank) + ": after the last step ";
  if (golden > 0 && actual > 0)
    return where + "golden ran " + counted(golden, "operator") + " and actual " + std::to_string(actual) +
           ", not the same ones: left out";
  return where + (golden > 0 ? "golden" : "actual") + " ran " + counted(golden + actual, "operator") +
         ", and " + (golden > 0 ? "actual" : "golden") + " none there: left out";
}

}  // namespace

std::string scope_of(const OperatorRun& run) {
  if (run.op != nullptr) {
    const std::size_t slash = run.op->name.rfind('/');
    return slash == std::string::npos ? std::string() : model::sanitise_name(run.op->name.substr(0, slash));
  }
  std::string_view name = without_number(run.name, {});
  if (name.ends_with(run.type)) {
    name.remove_suffix(run.type.size());
    while (name.ends_with('_')) name.remove_suffix(1);
    return std::string(name);
  }
  const std::size_t piece = name.rfind('_');
  return std::string(piece == std::string_view::npos ? std::string_view() : name.substr(0, piece));
}

namespace {

// Whether graphs are parts of a step. Otherwise each step is an execution of one graph, and which number a
// graph has depends on the steps that were run before.
bool have_graphs_in_common_steps(const Runs& runs) {
  for (std::size_t i = 1; i < runs.size(); ++i) {
    const Runs::Section &last = runs.section_of(i - 1), &next = runs.section_of(i);
    if (last.rank == next.rank && last.step == next.step && last.graph_id != next.graph_id) return true;
  }
  return false;
}

FrameRule make_rule(const Runs& golden, const Runs& actual, const TailsOfBoth& tails,
                    std::vector<std::string>& notes) {
  const auto rank = [](const Runs::Section& section) { return std::int64_t{section.rank}; };
  const auto graph = [](const Runs::Section& section) { return section.graph_id; };
  const auto step = [](const Runs::Section& section) { return section.step; };
  FrameRule rule;
  rule.rank = needs_equal("rank", golden, actual, tails, rank, notes);
  rule.graph = needs_equal("graph", golden, actual, tails, graph, notes) &&
               (have_graphs_in_common_steps(golden) || have_graphs_in_common_steps(actual));
  rule.step = needs_equal("step", golden, actual, tails, step, notes);
  return rule;
}

}  // namespace

Pairing pair_operators(const Runs& golden, const Runs& actual, const TailsOfBoth& tails, bool are_shards) {
  Pairing pairing;
  const FrameRule rule = make_rule(golden, actual, tails, pairing.notes);
  const bool has_log = !golden.have_full_scopes() || !actual.have_full_scopes();
  bool by_path = false;
  bool has_fused = false;
  std::uint32_t aligned = 0, unlogged = 0;
  for (std::uint32_t g = 0, a = 0; g < golden.size() || a < actual.size();) {
    // Both are in order of their frames: the lower one is next.
    FrameRuns of_golden = part_at(golden, g, rule, tails.golden);
    FrameRuns of_actual = part_at(actual, a, rule, tails.actual);
    if (of_golden.size() > 0 && of_actual.size() > 0) {
      const SectionKey next_golden = rule.of(golden.section_of(g), tails.golden);
      const SectionKey next_actual = rule.of(actual.section_of(a), tails.actual);
      if (next_golden > next_actual) of_golden.last = g;
      if (next_actual > next_golden) of_actual.last = a;
    }
    g = of_golden.last;
    a = of_actual.last;
    const std::uint32_t golden_size = of_golden.size(), actual_size = of_actual.size();
    const Runs::Section& section = golden_size > 0 ? golden.section_of(g - 1) : actual.section_of(a - 1);
    const bool is_after_steps = is_tail(section, golden_size > 0 ? tails.golden : tails.actual);
    FramePairing frame(std::move(of_golden), std::move(of_actual), rule);
    if (golden_size > 0 && actual_size > 0 && has_log && !frame.has_equal_names()) {
      by_path = true;
      frame.join_paths();
      unlogged += frame.leave_out_unlogged();
    } else if (golden_size > 0 && actual_size > 0) {
      aligned += frame.join_sequences();
      frame.join_names();
      if (!are_shards) frame.separate_reshaped();
      frame.note_fusions(has_fused);
      join_loose(golden, actual, frame, pairing.notes);
      frame.join_signatures();
    }
    if (is_after_steps && !frame.is_whole())
      pairing.notes.push_back(describe_tail(section.rank, golden_size, actual_size));
    else
      frame.append_pairs(pairing.pairs);
  }
  if (aligned > 0)
    pairing.notes.push_back(counted(aligned, "operator") + (aligned == 1 ? " is" : " are") +
                            " paired by shapes and neighbours, because one run has more of the same name");
  if (by_path)
    pairing.notes.emplace_back(
        "operators are paired by module and type, in order, because a log of DebugMode names no more");
  if (unlogged > 0)
    pairing.notes.push_back(counted(unlogged, "operator") + " of " +
                            (golden.have_full_scopes() ? "golden" : "actual") +
                            " ran before or after what the other dump is a log of: left out");
  if (has_fused) pairing.notes.emplace_back("fused operators are compared by the outputs of the last one");
  return pairing;
}

std::vector<SlotPair> pair_slots(const OperatorRun& golden, const OperatorRun& actual, bool by_name) {
  using Position = std::tuple<model::Side, std::string_view, std::uint32_t>;
  // the position, and how many of the same came before
  std::map<std::pair<Position, std::size_t>, SlotPair> pairs;
  const auto add = [&](const OperatorRun& run, const Slot* SlotPair::*side) {
    std::map<Position, std::size_t> seen;
    for (const Slot& slot : run.slots) {
      const bool is_named = by_name && !slot.argument.empty();
      const Position position{slot.side, is_named ? slot.argument : std::string_view(),
                              is_named ? 0 : slot.index};
      pairs[{position, seen[position]++}].*side = &slot;
    }
  };
  add(golden, &SlotPair::golden);
  add(actual, &SlotPair::actual);
  std::vector<SlotPair> list;
  list.reserve(pairs.size());
  for (const auto& [key, pair] : pairs) list.push_back(pair);
  return list;
}

}  // namespace opdump::compare
