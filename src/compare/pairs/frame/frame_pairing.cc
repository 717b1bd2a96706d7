#include "compare/pairs/frame/frame_pairing.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/text/text.h"
#include "compare/facts/operator_kind.h"
#include "compare/names.h"
#include "compare/pairs/frame/alignment.h"
#include "compare/pairs/frame/run_keys.h"
#include "compare/pairs/frame/scope.h"
#include "dump/file_name.h"
#include "group/shared_work.h"

namespace opdump::compare {

using dump::OperatorRun;
using dump::Runs;
using dump::Slot;

namespace {

constexpr std::uint32_t kNone = OperatorPair::kNone;

std::string shape_text(const Slot& slot) {
  if (slot.shape) return model::format_shape(*slot.shape);
  if (slot.file.empty()) return "?";
  const auto tensor = dump::StoredTensor::read(slot);
  return tensor ? model::format_shape(tensor->view().shape) : "?";
}

// Names a type by what it computes: compiled regions have batch norms that write to none of their inputs.
std::string_view usual_type(std::string_view type) {
  const bool is_other =
      type == "_native_batch_norm_legit_functional" || type == "_native_batch_norm_legit_no_training";
  return is_other ? "native_batch_norm" : type;
}

// What two operators of different names must have in common to be taken for the same one.
std::string signature(const FrameRuns& part, std::uint32_t i) {
  const OperatorRun run = part.run_of(i);
  std::string text = scope_of(run) + '\n';
  text.append(usual_type(run.type)) += '\n';
  for (const Slot& slot : part.runs->slots(part.first + i))
    group::note_seen(
        text, (slot.side == model::Side::input ? "i" : "o") + std::to_string(slot.index) + shape_text(slot));
  return text;
}

// Spells the shapes as far as they are known without a look into files.
std::string shapes_of(const FrameRuns& part, std::uint32_t i) {
  std::string shapes;
  for (const Slot& slot : part.runs->slots(part.first + i))
    shapes += slot.shape ? model::format_shape(*slot.shape) : "?";
  return shapes;
}

// Holds shapes but for the size of the first axis, as with another batch. Empty if one is not known.
using Shapes = std::map<std::pair<model::Side, std::uint32_t>, std::vector<std::int64_t>>;
Shapes inner_shapes(const FrameRuns& part, std::uint32_t i) {
  Shapes shapes;
  for (const Slot& slot : part.runs->slots(part.first + i)) {
    if (!slot.shape) return {};
    std::vector<std::int64_t>& shape = shapes[{slot.side, slot.index}];
    shape.assign(slot.shape->dims().begin(), slot.shape->dims().end());
    if (!shape.empty()) shape.front() = 0;
  }
  return shapes;
}

bool is_of_onnx(const FrameRuns& part, std::uint32_t i) {
  const auto form = part.runs->form_of(part.first + i);
  return form != nullptr && form->is_of_onnx();
}

// Compares only what both have if they are of ONNX: an attribute may be an input in another version.
bool have_other_shapes(const Shapes& golden, const Shapes& actual, bool are_of_onnx) {
  if (!are_of_onnx) return !golden.empty() && !actual.empty() && golden != actual;
  return std::ranges::any_of(golden, [&](const auto& slot) {
    const auto same = actual.find(slot.first);
    return same != actual.end() && same->second != slot.second;
  });
}

bool have_outputs_alike(const Shapes& golden, const Shapes& actual) {
  const auto outputs_of = [](const Shapes& shapes) { return shapes.lower_bound({model::Side::output, 0}); };
  return std::equal(outputs_of(golden), golden.end(), outputs_of(actual), actual.end());
}

std::string kind_in_scope(const OperatorRun& run) { return scope_of(run) + '\n' + run.type; }

// How many operators of a type there are in each scope.
std::map<std::string, std::uint32_t> count_kinds(const FrameRuns& part) {
  std::map<std::string, std::uint32_t> counts;
  for (std::uint32_t i = 0; i < part.size(); ++i) ++counts[kind_in_scope(part.run_of(i))];
  return counts;
}

bool states_originals(const FrameRuns& part, std::uint32_t i) {
  return part.run_of(i).originals() != nullptr;
}

bool has_open(const FrameRuns& part) {
  for (std::uint32_t i = 0; i < part.size(); ++i)
    if (part.partners[i] == kNone) return true;
  return false;
}

// An engine numbers its ReorderOutput as it makes them: the same number is another one in a graph that
// differs.
bool is_put_in_for_layout(const OperatorRun& run) {
  return run.originals() != nullptr && run.originals()->empty() &&
         kind_of(run.type).role == OperatorRole::moves;
}

// What an engine made of others goes by the last of these, which gives what it gives.
std::string name_of(const OperatorRun& run) {
  return run.originals() != nullptr && !run.originals()->empty() ? run.originals()->back() : run.name;
}

// Which operators of `made` an engine made of several in `whole`, or put in, and which of these have no
// partner because of that.
bool note_fusions_in(FrameRuns& made, FrameRuns& whole) {
  bool has_fused = false;
  for (FrameRuns* part : {&made, &whole}) part->fusions.resize(part->size(), Fusion::none);
  RunKeys originals, open;
  for (std::uint32_t i = 0; i < made.size(); ++i) {
    const OperatorRun run = made.run_of(i);
    if (run.originals() == nullptr) continue;
    if (run.originals()->empty() && made.partners[i] == kNone) made.fusions[i] = Fusion::added;
    for (const std::string& name : *run.originals()) originals.add(i, 0, dump::plain_name(name));
  }
  for (std::uint32_t i = 0; i < whole.size(); ++i)
    if (whole.partners[i] == kNone) open.add(i, 0, dump::plain_name(whole.run_of(i).name));
  RunKeys::match(originals, open, [&](std::uint32_t fused, std::uint32_t part) {
    made.fusions[fused] = Fusion::fused;
    whole.fusions[part] = Fusion::part;
    has_fused = true;
  });
  return has_fused;
}

// Whether a run has a constant of ONNX, which engines fold, is seen in what reads it.
Fusion fusion_of(const FrameRuns& part, std::uint32_t i) {
  const bool is_constant = i != kNone && part.run_of(i).type == "Constant";
  return is_constant ? Fusion::makes : i == kNone || part.fusions.empty() ? Fusion::none : part.fusions[i];
}

}  // namespace

FramePairing::FramePairing(FrameRuns golden, FrameRuns actual, const FrameRule& rule)
    : golden_(std::move(golden)), actual_(std::move(actual)), rule_(&rule) {
  for (FrameRuns* part : {&golden_, &actual_}) part->partners.assign(part->size(), kNone);
  golden_.methods.assign(golden_.size(), PairedBy::none);
}

bool FramePairing::has_equal_names() const {
  if (golden_.size() != actual_.size()) return false;
  for (std::uint32_t i = 0; i < golden_.size(); ++i)
    if (golden_.run_of(i).name != actual_.run_of(i).name) return false;
  return true;
}

template <typename KeyOf>
void FramePairing::join_equal(bool by_graph, PairedBy method, const KeyOf& key_of) {
  RunKeys golden, actual;
  for (const auto& [part, keys] : {std::pair(&golden_, &golden), std::pair(&actual_, &actual)})
    for (std::uint32_t i = 0; i < part->size(); ++i)
      if (part->partners[i] == kNone)
        if (const std::string key = key_of(*part, i); !key.empty())
          keys->add(i, by_graph ? part->section_of(i).graph_id : 0, key);
  RunKeys::match(golden, actual, [&](std::uint32_t g, std::uint32_t a) { join(g, a, method); });
}

template <typename KindOf>
std::uint32_t FramePairing::join_kinds(const KindOf& kind_of, bool joins_all, bool reads_tensors) {
  using Group = std::pair<std::vector<std::uint32_t>, std::vector<std::uint32_t>>;  // of golden, of actual
  std::map<std::pair<std::int64_t, std::string>, Group> groups;
  std::vector<std::string> kinds[2];
  for (const FrameRuns* part : {&golden_, &actual_})
    for (std::uint32_t i = 0; i < part->size(); ++i) {
      const OperatorRun run = part->run_of(i);
      const std::optional<std::string> kind = kind_of(run);
      kinds[part == &actual_].push_back(kind.value_or(run.name));
      if (!kind || part->partners[i] != kNone) continue;
      Group& group = groups[{rule_->graph_of(part->section_of(i)), *kind}];
      (part == &golden_ ? group.first : group.second).push_back(i);
    }
  std::uint32_t joined = 0;
  for (const auto& [kind, group] : groups) {
    const auto& [of_golden, of_actual] = group;
    if (of_golden.empty() || of_actual.empty()) continue;
    if (of_golden.size() == of_actual.size() || of_golden.size() > kMaxAlignment / of_actual.size()) {
      for (std::size_t i = 0; joins_all && i < std::min(of_golden.size(), of_actual.size()); ++i)
        join(of_golden[i], of_actual[i], PairedBy::path);
      continue;
    }
    join_aligned(of_golden, of_actual, {kinds[0], kinds[1]}, reads_tensors);
    joined += static_cast<std::uint32_t>(std::min(of_golden.size(), of_actual.size()));
  }
  return joined;
}

void FramePairing::join_aligned(std::span<const std::uint32_t> of_golden,
                                std::span<const std::uint32_t> of_actual, const KindsOfBoth& kinds,
                                bool reads_tensors) {
  const auto places_of = [&](const FrameRuns& part, const std::vector<std::string>& around,
                             std::span<const std::uint32_t> indices) {
    std::vector<Surroundings> places;
    for (const std::uint32_t i : indices) {
      const OperatorRun run = part.run_of(i);
      Surroundings& place = places.emplace_back();
      place.name = run.name;
      place.before = neighbour_with_data(*part.runs, part.first, around, i, -1);
      place.after = neighbour_with_data(*part.runs, part.first, around, i, 1);
      if (run.op != nullptr) place.source = model::format_source(*run.op);
      place.shapes = shapes_of(part, i);
      if (reads_tensors)
        for (const Slot& slot : part.runs->slots(part.first + i)) place.norms.push_back(sample_norm(slot));
    }
    return places;
  };
  const auto golden = places_of(golden_, kinds.golden, of_golden),
             actual = places_of(actual_, kinds.actual, of_actual);
  for (const auto& [i, j] : align(golden, actual)) join(of_golden[i], of_actual[j], PairedBy::alignment);
}

std::uint32_t FramePairing::join_sequences() {
  if (has_equal_names()) return 0;
  return join_kinds(
      [](const OperatorRun& run) -> std::optional<std::string> {
        const bool is_numbered = run.op != nullptr && run.originals() == nullptr && !runs_ahead(run);
        if (!is_numbered) return std::nullopt;
        return std::string(without_number(run.op->name, run.type));
      },
      false, true);
}

void FramePairing::join_names() {
  const bool are_equal = has_equal_names();
  const auto name = [&](const FrameRuns& part, std::uint32_t i) {
    const OperatorRun run = part.run_of(i);
    return are_equal || !is_put_in_for_layout(run) ? name_of(run) : std::string();
  };
  join_equal(rule_->graph, PairedBy::name, name);
  // Layouts spell a name with more or with fewer characters of the program's.
  join_equal(rule_->graph, PairedBy::name, [&](const FrameRuns& part, std::uint32_t i) {
    const std::string spelt = name(part, i);
    return spelt.empty() ? spelt : dump::plain_name(spelt);
  });
  // A model that is loaded in another order has another number.
  join_equal(false, PairedBy::graph, name);
}

bool FramePairing::separate_reshaped() {
  std::set<std::string> open;  // scopes
  for (const FrameRuns* part : {&golden_, &actual_})
    for (std::uint32_t i = 0; i < part->size(); ++i)
      if (part->partners[i] == kNone) open.insert(scope_of(part->run_of(i)));
  std::size_t joined = 0;
  std::vector<std::uint32_t> reshaped;
  for (std::uint32_t g = 0; g < golden_.size(); ++g) {
    if (!is_joined(g)) continue;
    ++joined;
    const std::uint32_t a = golden_.partners[g];
    if (states_originals(golden_, g) || states_originals(actual_, a)) continue;  // it reads what others read
    if (orders_.contains(g)) continue;  // its elements are others, by number
    if (have_other_shapes(inner_shapes(golden_, g), inner_shapes(actual_, a),
                          is_of_onnx(golden_, g) && is_of_onnx(actual_, a)))
      reshaped.push_back(g);
  }
  if (reshaped.empty() || 2 * reshaped.size() > joined) return false;
  std::set<std::pair<std::string, Shapes>> in_actual;  // what another one of golden may be the same as
  for (const std::uint32_t g : reshaped) {
    const std::uint32_t a = golden_.partners[g];
    in_actual.emplace(kind_in_scope(actual_.run_of(a)), inner_shapes(actual_, a));
  }
  bool has_separated = false;
  const auto golden_kinds = count_kinds(golden_), actual_kinds = count_kinds(actual_);
  for (const std::uint32_t g : reshaped) {
    const OperatorRun run = golden_.run_of(g);
    if (!open.contains(scope_of(run)) && !in_actual.contains({kind_in_scope(run), inner_shapes(golden_, g)}))
      continue;
    // The only one of its kind on both sides that gives a result of the same shape, as a loss: it is the same
    // one, and what it reads has another shape.
    const auto count = golden_kinds.find(kind_in_scope(run)),
               other_count = actual_kinds.find(kind_in_scope(run));
    const bool is_only = phase_of(run) == model::Phase::forward && count->second == 1 &&
                         other_count != actual_kinds.end() && other_count->second == 1;
    if (!is_only ||
        !have_outputs_alike(inner_shapes(golden_, g), inner_shapes(actual_, golden_.partners[g]))) {
      separate(g);
      has_separated = true;
    }
  }
  return has_separated;
}

void FramePairing::join_paths() {
  const auto has_modules = [](const FrameRuns& part) {
    for (std::uint32_t i = 0; i < part.size(); ++i) {
      const OperatorRun run = part.run_of(i);
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
      const OperatorRole role = kind_of(part->run_of(i).type).role;
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

bool FramePairing::note_fusions() {
  if (!has_open(golden_) && !has_open(actual_)) return false;
  const bool in_golden = note_fusions_in(golden_, actual_), in_actual = note_fusions_in(actual_, golden_);
  return in_golden || in_actual;
}

void FramePairing::join_signatures() {
  std::set<std::int64_t> open_graphs;
  for (std::uint32_t g = 0; g < golden_.size(); ++g)
    if (golden_.partners[g] == kNone) open_graphs.insert(rule_->graph_of(golden_.section_of(g)));
  join_equal(rule_->graph, PairedBy::shapes, [&](const FrameRuns& part, std::uint32_t i) {
    const bool is_open =
        open_graphs.contains(rule_->graph_of(part.section_of(i))) && !states_originals(part, i);
    return is_open ? signature(part, i) : std::string();
  });
}

void FramePairing::join(std::uint32_t g, std::uint32_t a, PairedBy method) {
  const bool has_moved = golden_.is_moved(g) || actual_.is_moved(a);
  if (has_moved && method == PairedBy::name) method = PairedBy::path;
  golden_.partners[g] = a;
  golden_.methods[g] = method;
  actual_.partners[a] = g;
}

void FramePairing::separate(std::uint32_t g) {
  if (is_joined(g)) actual_.partners[golden_.partners[g]] = kNone;
  golden_.partners[g] = kNone;
  golden_.methods[g] = PairedBy::none;
}

bool FramePairing::is_whole() const {
  if (golden_.size() != actual_.size()) return false;
  for (std::uint32_t g = 0; g < golden_.size(); ++g)
    if (!is_joined(g)) return false;
  return true;
}

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
    if (const auto order = orders_.find(g); order != orders_.end() && a != kNone)
      pairs.back().order = std::make_shared<const ElementOrder>(order->second);
  }
}

}  // namespace opdump::compare
