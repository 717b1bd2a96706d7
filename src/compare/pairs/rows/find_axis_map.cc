#include "compare/pairs/rows/find_axis_map.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "compare/facts/operator_kind.h"
#include "compare/names.h"
#include "compare/pairs/rows/match_rows.h"
#include "dump/read/dump_set.h"

namespace opdump::compare {
namespace {

// Data that an operator reads, of other rows in each run.
struct Root {
  std::size_t place = 0;
  ShapedSlot slot;
};

// A tensor of all rows one behind the other may have no axis for the one row.
void give_row_axis(ShapedSlot& slot) {
  const auto give = [](model::Shape& shape, const model::Shape& other) {
    if (shape.rank() + 1 != other.rank()) return;
    std::vector<std::int64_t> sizes{1};
    sizes.insert(sizes.end(), shape.dims().begin(), shape.dims().end());
    shape = model::Shape(sizes);
  };
  give(slot.golden, slot.actual);
  give(slot.actual, slot.golden);
}

model::TensorView view_as(const dump::StoredTensor& tensor, const model::Shape& shape) {
  model::TensorView view = tensor.view();
  if (view.shape.rank() + 1 != shape.rank()) return view;
  std::vector<std::int64_t> strides{view.shape.rank() == 0 ? 1 : view.shape[0] * view.strides[0]};
  strides.insert(strides.end(), view.strides.dims().begin(), view.strides.dims().end());
  view.shape = shape;
  view.strides = model::Shape(strides);
  return view;
}

// The axes in which shapes differ; nothing if these have another number of axes.
std::optional<std::vector<std::size_t>> other_axes(const ShapedSlot& slot) {
  if (slot.golden.rank() != slot.actual.rank()) return std::nullopt;
  std::vector<std::size_t> axes;
  for (std::size_t axis = 0; axis < slot.golden.rank(); ++axis)
    if (slot.golden[axis] != slot.actual[axis]) axes.push_back(axis);
  return axes;
}

// What reads data of other rows, in order of execution.
struct Roots {
  std::vector<Root> all = {};
  bool has_unrelated = false;  // data of other shapes, as masks of a packed batch and of a padded one
};

// Whether it may have the rows of two batches of one size that have only some rows in common.
bool is_of_equal_batch(const ShapedSlot& slot, const SplitRows* split) {
  return split != nullptr && split->axis.golden == split->axis.actual && slot.golden == slot.actual &&
         slot.golden.rank() > 0 && slot.golden[0] == split->axis.golden;
}

// Nothing if an operator lost rows or put some in; of split batches, it has only taken some for a step.
std::optional<Roots> find_roots(const PairedRuns& runs, std::span<const std::size_t> places,
                                RowOrigins& origins, const SplitRows* split) {
  Roots roots;
  for (const std::size_t place : places) {
    const OperatorPair& pair = runs.pairs()[place];
    const dump::OperatorRun run = runs.runs(true).without_slots(pair.golden);
    const bool is_forward = phase_of(run) == model::Phase::forward;  // gradients are spread over rows
    if (!is_forward || kind_of(run.type).role != OperatorRole::computes) continue;
    const bool is_outside = is_outside_modules(run);  // what joins results there is another one perhaps
    for (ShapedSlot& slot : runs.slots(place)) {
      if (slot.side != model::Side::input || !(slot.is_other_shape() || is_of_equal_batch(slot, split)))
        continue;
      const RowOrigin golden = origins.of(true, pair.golden, slot.index),
                      actual = origins.of(false, pair.actual, slot.index);
      const bool is_computed = golden == RowOrigin::computed || actual == RowOrigin::computed;
      if (is_computed && split == nullptr) return std::nullopt;
      const bool is_root =
          is_computed ? !is_outside && roots.all.empty() : std::max(golden, actual) <= RowOrigin::chosen;
      if (!is_root) continue;
      give_row_axis(slot);
      if (other_axes(slot))
        roots.all.push_back({place, std::move(slot)});
      else
        roots.has_unrelated = true;
    }
  }
  return roots;
}

// Whole numbers of rows and positions that an execution reads; nothing of others.
std::optional<dump::StoredTensor> read_tokens(const dump::Runs& runs, std::size_t execution,
                                              std::uint32_t index) {
  for (const dump::Slot& slot : runs.slots(execution)) {
    if (slot.side != model::Side::input || slot.index != index || slot.file.empty()) continue;
    auto tensor = dump::StoredTensor::read(slot);
    if (tensor && tensor->view().shape.rank() == 2 &&
        model::dtype_info(tensor->view().dtype).kind == model::DTypeKind::signed_integer &&
        tensor->straighten())
      return std::move(*tensor);
    return std::nullopt;
  }
  return std::nullopt;
}

// The execution of the same operator one step before.
std::optional<std::size_t> find_step_before(const dump::Runs& runs, std::size_t execution) {
  const dump::Runs::Section& section = runs.section_of(execution);
  const std::string name = operator_name(runs.without_slots(execution));
  for (std::size_t i = execution; i-- > 0 && runs.section_of(i).rank == section.rank;) {
    if (runs.section_of(i).step + 1 < section.step) break;
    if (runs.section_of(i).step + 1 == section.step && operator_name(runs.without_slots(i)) == name) return i;
  }
  return std::nullopt;
}

// A run that keeps what it has computed reads the next positions only, where the other one reads all so far:
// how many it has read before them. Nothing if the steps before have not read these.
std::optional<std::int64_t> count_read_before(const PairedRuns& runs, const Root& root, bool is_golden) {
  const OperatorPair& pair = runs.pairs()[root.place];
  const auto whole =
      read_tokens(runs.runs(!is_golden), is_golden ? pair.actual : pair.golden, root.slot.index);
  std::size_t execution = is_golden ? pair.golden : pair.actual;
  if (!whole) return std::nullopt;
  const dump::Runs& few = runs.runs(is_golden);
  const std::int64_t rows = whole->view().shape[0], all = whole->view().shape[1];
  std::optional<std::int64_t> before;
  std::int64_t end = all;
  while (end > 0) {
    const auto part = read_tokens(few, execution, root.slot.index);
    if (!part || part->view().dtype != whole->view().dtype || part->view().shape[0] != rows) return {};
    const std::int64_t count = part->view().shape[1], begin = end - count;
    if (count == 0 || begin < 0) return std::nullopt;
    const std::size_t width = model::dtype_info(part->view().dtype).bits / 8;
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::byte* of_part = part->view().data + static_cast<std::size_t>(row * count) * width;
      const std::byte* of_whole = whole->view().data + static_cast<std::size_t>(row * all + begin) * width;
      if (std::memcmp(of_part, of_whole, static_cast<std::size_t>(count) * width) != 0) return std::nullopt;
    }
    if (!before) before = begin;
    end = begin;
    if (end == 0) break;
    const auto found = find_step_before(few, execution);
    if (!found) return std::nullopt;
    execution = *found;
  }
  return before;
}

// What a root says of the rows: the axes in which the runs differ, and what they have in common.
struct RootMatch {
  RowAxisMap map = {};
  bool is_exact = true, is_telling = true;
  bool decides = false;  // which rows are the same, whatever other data of these rows says
};

// Nothing if it does not say: the rows are not its first axis, or positions not its second one.
std::optional<RootMatch> match_root(const PairedRuns& runs, const Root& root,
                                    std::optional<std::int64_t> next) {
  const auto axes = other_axes(root.slot);
  if (!root.slot.has_data || !axes || axes->empty() || axes->back() > 1) return std::nullopt;
  const auto of_golden = runs.read_input(true, root.place, root.slot.index),
             of_actual = runs.read_input(false, root.place, root.slot.index);
  if (!of_golden || !of_actual) return std::nullopt;
  const model::Shape &g = root.slot.golden, &a = root.slot.actual;
  const model::TensorView golden = view_as(*of_golden, g), actual = view_as(*of_actual, a);
  RootMatch match;
  match.map.axes.push_back({"row", g[0], a[0]});
  if (axes->back() == 0) {
    const RowMatch rows = match_rows(golden, actual).value_or(RowMatch());
    match.is_exact = rows.is_exact;
    match.is_telling = !rows.is_exact || tells_rows_apart(golden, actual);
    match.map.blocks = join_rows(rows.rows);
  } else {
    match.map.axes.push_back({"position", g[1], a[1]});
    const bool is_golden = g[1] < a[1];  // the run that has few
    if (const auto before = g[0] == a[0] ? count_read_before(runs, root, is_golden) : std::nullopt) {
      const AxisStretch positions{.golden = is_golden ? 0 : *before,
                                  .actual = is_golden ? *before : 0,
                                  .count = is_golden ? g[1] : a[1]};
      match.map.blocks = {{{.golden = 0, .actual = 0, .count = g[0]}, positions}};
      match.decides = true;
      return match;
    }
    std::vector<CellMatch> cells = match_packed(golden, actual);
    match.map.is_packed = !cells.empty();
    if (cells.empty()) cells = match_cells(golden, actual, next);
    match.is_telling = tells_positions_apart(cells, golden);
    match.map.blocks = join_cells(cells);
    const bool goes_on = cells.size() == 1 && cells.front().positions.golden == next;
    match.decides =
        (match.map.is_packed || static_cast<std::int64_t>(cells.size()) == std::min(g[0], a[0])) &&
        (match.is_telling || goes_on) && !counts_positions(g[1] > a[1] ? golden : actual);
  }
  return match;
}

// Whether a root has the rows that two steps should have in common; nothing if it does not say.
std::optional<RootMatch> confirm_rows(const PairedRuns& runs, const Root& root, const SplitRows& split) {
  RootMatch match{.map = {.axes = {split.axis}, .blocks = {{split.rows}}}};
  const auto axes = other_axes(root.slot);
  const auto parts = find_parts(match.map, root.slot.golden, root.slot.actual);
  const bool has_rows = axes == std::vector<std::size_t>{0} || is_of_equal_batch(root.slot, &split);
  if (!root.slot.has_data || !has_rows || !parts || parts->parts == nullptr) return std::nullopt;
  const auto golden = runs.read_input(true, root.place, root.slot.index),
             actual = runs.read_input(false, root.place, root.slot.index);
  if (!golden || !actual) return std::nullopt;
  const model::TensorView of_golden = view_as(*golden, root.slot.golden),
                          of_actual = view_as(*actual, root.slot.actual);
  if (!agree(*parts->parts, of_golden, of_actual)) return std::nullopt;
  match.is_telling = tells_rows_apart(of_golden, of_actual);
  match.decides = match.is_telling;
  return match;
}

// What data says of a map that other data gave.
enum class Objection : std::uint8_t {
  none,      // it agrees in the rows that are the same, or cannot be read
  elements,  // it has these rows with other elements
  axes,      // it has other axes
};

Objection objection_of(const PairedRuns& runs, const Root& root, const RowAxisMap& map) {
  const auto axes = find_parts(map, root.slot.golden, root.slot.actual, map.is_packed);
  if (!axes) return Objection::axes;
  if (!root.slot.has_data || axes->parts == nullptr || !axes->has_axis.front()) return Objection::none;
  const auto golden = runs.read_input(true, root.place, root.slot.index),
             actual = runs.read_input(false, root.place, root.slot.index);
  const bool differs =
      golden && actual &&
      !agree(*axes->parts, view_as(*golden, root.slot.golden), view_as(*actual, root.slot.actual));
  return differs ? Objection::elements : Objection::none;
}

Objection objection_of_all(const PairedRuns& runs, const std::vector<Root>& roots, const RowAxisMap& map) {
  Objection worst = Objection::none;
  for (const Root& root : roots)
    if (worst != Objection::axes) worst = std::max(worst, objection_of(runs, root, map));
  return worst;
}

// Where positions go on behind others, what a run keeps of all of them has an extent of its own: the keys.
void name_keys(const PairedRuns& runs, std::span<const std::size_t> places, RowAxisMap& map) {
  if (map.axes.size() < 2 || map.blocks.size() != 1) return;
  const NamedAxis& positions = map.axes.back();
  const std::int64_t end = map.blocks.front().back().golden + map.blocks.front().back().count;
  if (end == positions.actual || end == positions.golden) return;
  const auto has_keys = [&](const ShapedSlot& slot) {
    if (slot.golden.rank() != slot.actual.rank()) return false;
    for (std::size_t axis = 0; axis < slot.golden.rank(); ++axis)
      if (slot.golden[axis] == positions.golden && slot.actual[axis] == end) return true;
    return false;
  };
  for (const std::size_t place : places) {
    const std::vector<ShapedSlot> slots = runs.slots(place);
    if (std::ranges::none_of(slots, has_keys)) continue;
    map.axes.push_back({kKeys, positions.golden, end});
    map.blocks.front().push_back({.golden = 0, .actual = 0, .count = end});
    return;
  }
}

std::string describe(const PairedRuns& runs, const Root& root) {
  return "input." + std::to_string(root.slot.index) + " of " +
         one_line(operator_name(runs.runs(true).without_slots(runs.pairs()[root.place].golden)));
}

// Whether a module reads rows of the map, as a model does: what computes outside of modules may have lost the
// rows itself.
bool feeds_a_module(const PairedRuns& runs, std::span<const std::size_t> places, const RowAxisMap& map) {
  const auto has_rows = [&](const ShapedSlot& slot) {
    const auto axes = find_parts(map, slot.golden, slot.actual);
    return axes && axes->parts != nullptr && axes->has_axis.front();
  };
  return std::ranges::any_of(places, [&](std::size_t place) {
    const std::string module = module_of(runs.runs(true).without_slots(runs.pairs()[place].golden));
    return !module.empty() && module != "Default" && std::ranges::any_of(runs.slots(place), has_rows);
  });
}

std::optional<FoundMap> map_as_wanted(const std::vector<Root>& roots,
                                      std::vector<std::pair<std::int64_t, std::int64_t>> wanted) {
  const model::Shape &golden = roots.front().slot.golden, &actual = roots.front().slot.actual;
  std::ranges::sort(wanted);
  FoundMap found{.map = {.axes = {{"row", golden[0], actual[0]}}, .blocks = join_rows(wanted)},
                 .by = "as --rows says"};
  const bool fits = std::ranges::all_of(
      wanted, [&](const auto& row) { return row.first < golden[0] && row.second < actual[0]; });
  return fits ? std::optional(std::move(found)) : std::nullopt;
}

bool are_identical(const model::TensorView& a, const model::TensorView& b) {
  return a.dtype == b.dtype && a.is_contiguous() && b.is_contiguous() && a.byte_count() == b.byte_count() &&
         std::memcmp(a.data, b.data, a.byte_count()) == 0;
}

// The blocks that are of the rows that the user wants.
void keep_wanted(const std::vector<std::pair<std::int64_t, std::int64_t>>& wanted, RowAxisMap& map) {
  std::vector<RowAxisMap::Block> kept;
  for (const RowAxisMap::Block& block : map.blocks)
    for (std::int64_t i = 0; i < block.front().count; ++i) {
      const std::pair row(block.front().golden + i, block.front().actual + i);
      if (std::ranges::find(wanted, row) == wanted.end()) continue;
      kept.push_back(block);
      kept.back().front() = {.golden = row.first, .actual = row.second, .count = 1};
    }
  map.blocks = std::move(kept);
}

}  // namespace

std::optional<FoundMap> find_axis_map(const PairedRuns& runs, std::span<const std::size_t> places,
                                      const std::vector<std::pair<std::int64_t, std::int64_t>>& wanted,
                                      std::optional<std::int64_t> next, const SplitRows* split,
                                      RowOrigins& origins) {
  const auto found_roots = find_roots(runs, places, origins, split);
  if (!found_roots || found_roots->all.empty()) return std::nullopt;
  const std::vector<Root>& roots = found_roots->all;
  std::optional<FoundMap> found, disputed;
  for (const Root& root : roots) {
    auto match = split == nullptr ? std::nullopt : confirm_rows(runs, root, *split);
    if (!match) match = match_root(runs, root, next);
    if (!match) continue;
    if (!wanted.empty()) keep_wanted(wanted, match->map);
    if (match->map.blocks.empty()) continue;
    name_keys(runs, places, match->map);
    const Objection objection = objection_of_all(runs, roots, match->map);
    // Its rows are alike, as those of a mask, or other data of the same rows is wrong.
    const bool is_disputed = objection == Objection::elements && match->decides && !disputed;
    if (objection != Objection::none && !is_disputed) continue;
    if (found && !match->is_telling) continue;
    (is_disputed ? disputed : found) =
        FoundMap{.map = std::move(match->map),
                 .by = std::string(match->is_exact ? "equal" : "nearly equal") + " elements of " +
                       describe(runs, root),
                 .is_telling = match->is_telling};
    if (found && found->is_telling) break;
  }
  if (!found) found = std::move(disputed);
  if (found_roots->has_unrelated && !(found && found->map.is_packed)) return std::nullopt;
  if (found) found->is_telling = found->is_telling && feeds_a_module(runs, places, found->map);
  if (found || wanted.empty()) return found;
  found = map_as_wanted(roots, wanted);
  if (found) found->doubt = "no data of the two runs confirms that these rows are the same";
  return found;
}

bool reads_other_shapes(const PairedRuns& runs, std::span<const std::size_t> places, RowOrigins& origins) {
  const auto roots = find_roots(runs, places, origins, nullptr);
  return !roots || !roots->all.empty() || roots->has_unrelated;
}

std::optional<FoundMap> find_order_map(const PairedRuns& runs, std::span<const std::size_t> places,
                                       RowOrigins& origins) {
  constexpr std::uint64_t kMostBytes = 64 << 20;  // of a tensor that is read
  constexpr std::size_t kMost = 16, kMostOthers = 3;
  std::size_t read = 0, others = 0;
  for (const std::size_t place : places) {
    const OperatorPair& pair = runs.pairs()[place];
    const dump::OperatorRun run = runs.runs(true).without_slots(pair.golden);
    if (phase_of(run) != model::Phase::forward || kind_of(run.type).role != OperatorRole::computes) continue;
    for (const ShapedSlot& slot : runs.slots(place)) {
      if (slot.is_other_shape()) return std::nullopt;
      if (slot.side != model::Side::input || !slot.has_data || slot.golden.rank() == 0 || slot.golden[0] < 2)
        continue;
      const auto golden = runs.read_input(true, place, slot.index),
                 actual = runs.read_input(false, place, slot.index);
      if (!golden || !actual || golden->view().byte_count() > kMostBytes) continue;
      if (++read > kMost) return std::nullopt;
      if (are_identical(golden->view(), actual->view())) continue;
      // Most runs have the same data, and who made it need not be asked.
      if (origins.only_chooses(true, pair.golden) ||
          std::max(origins.of(true, pair.golden, slot.index), origins.of(false, pair.actual, slot.index)) >
              RowOrigin::chosen)
        continue;
      const auto match = match_rows(golden->view(), actual->view());
      const auto is_moved = [](const auto& row) { return row.first != row.second; };
      const bool are_all =
          match && match->is_exact && match->rows.size() == static_cast<std::size_t>(slot.golden[0]);
      if (are_all && std::ranges::none_of(match->rows, is_moved)) continue;
      if (!are_all || !tells_rows_apart(golden->view(), actual->view())) {
        if (++others == kMostOthers) return std::nullopt;
        continue;
      }
      FoundMap found{
          .map = {.axes = {{"row", slot.golden[0], slot.golden[0]}}, .blocks = join_rows(match->rows)},
          .by = "equal elements of " + describe(runs, {place, slot})};
      found.is_telling = feeds_a_module(runs, places, found.map);
      return found;
    }
  }
  return std::nullopt;
}

}  // namespace opdump::compare
