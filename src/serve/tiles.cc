#include "serve/tiles.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <list>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>

#include "base/text/json.h"
#include "compare/names.h"
#include "math/stats/stats.h"

namespace opdump::serve {
namespace {

using Json = nlohmann::ordered_json;

// A part of more elements is answered from a grid of the whole tensor, which is made once.
constexpr std::uint64_t kMostRead = std::uint64_t{4} << 20;
constexpr std::uint64_t kGridCells = 1024;  // in each direction
constexpr std::size_t kGridsKept = 4;       // of up to 24 MiB

Region matrix_of(const model::Shape& shape, std::size_t across) {
  Region matrix{.rows = 1, .columns = 1};
  for (std::size_t axis = 0; axis < shape.rank(); ++axis)
    (axis < across ? matrix.rows : matrix.columns) *= static_cast<std::uint64_t>(shape[axis]);
  return matrix;
}

std::string answer_of(const MaxGrid& grid, const MatrixPair& pair) {
  const Region& shown = grid.region;
  Json head = {{"rows", pair.rows},      {"columns", pair.columns},  {"row", shown.row},
               {"column", shown.column}, {"shown_rows", shown.rows}, {"shown_columns", shown.columns},
               {"height", grid.height},  {"width", grid.width},      {"sides", Json::array({"golden"})}};
  if (pair.actual != nullptr) head["sides"] = {"golden", "actual", "difference"};
  std::string answer = json_text(head) + "\n";
  static_assert(std::endian::native == std::endian::little);
  for (const std::vector<double>& side : grid.sides)
    answer.append(reinterpret_cast<const char*>(side.data()), side.size() * sizeof(double));
  return answer;
}

}  // namespace

struct TileSource::Grids {
  using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::string, std::string, std::string,
                         std::size_t>;
  std::mutex mutex;  // also while one is made: who asks for the same waits
  std::list<std::pair<Key, std::shared_ptr<const MaxGrid>>> recent;
};

TileSource::OpenDump::OpenDump(dump::DumpSet opened) : dump(std::move(opened)) {
  by_name.reserve(dump.runs().size());
  for (std::uint32_t i = 0; i < dump.runs().size(); ++i)
    by_name.emplace_back(std::hash<std::string>()(compare::operator_name(dump.runs().without_slots(i))), i);
  std::ranges::sort(by_name);
}

Result<dump::Slot> TileSource::OpenDump::find(const TileRequest& request, const std::string& name) const {
  std::optional<dump::Slot> found;
  const std::size_t hash = std::hash<std::string>()(name);
  for (auto at = std::ranges::lower_bound(by_name, std::pair(hash, 0u));
       at != by_name.end() && at->first == hash; ++at) {
    const dump::OperatorRun run = dump.runs()[at->second];
    if (compare::operator_name(run) != name) continue;
    if (run.step != request.step || (found && run.graph_id != request.graph)) continue;
    if (run.rank != request.rank && dump.statuses().size() > 1) continue;
    for (const dump::Slot& slot : run.slots)
      if (compare::slot_name(slot) == request.slot && !slot.file.empty()) found = slot;
  }
  if (!found) return Error(Code::not_found, "the dump has no elements of " + name + " " + request.slot);
  return *std::move(found);
}

Result<TileSource> TileSource::open(const std::string& golden, const std::string& actual) {
  TileSource source;
  source.grids_ = std::make_shared<Grids>();
  OPDUMP_TRY(dump::DumpSet first, dump::DumpSet::open(golden));
  source.golden_ = std::make_shared<const OpenDump>(std::move(first));
  if (actual.empty()) return source;
  OPDUMP_TRY(dump::DumpSet second, dump::DumpSet::open(actual));
  source.actual_ = std::make_shared<const OpenDump>(std::move(second));
  return source;
}

Result<std::shared_ptr<const MaxGrid>> TileSource::whole(const TileRequest& request,
                                                         const MatrixPair& pair) const {
  Grids::Key key{request.rank, request.step,  request.graph, request.golden_operator, request.actual_operator,
                 request.slot, request.across};
  const std::lock_guard lock(grids_->mutex);
  auto& recent = grids_->recent;
  for (auto at = recent.begin(); at != recent.end(); ++at) {
    if (at->first != key) continue;
    recent.splice(recent.begin(), recent, at);
    return recent.front().second;
  }
  const Region all{.rows = pair.rows, .columns = pair.columns};
  recent.emplace_front(std::move(key), std::make_shared<const MaxGrid>(make_max_grid(pair, all, kGridCells)));
  if (recent.size() > kGridsKept) recent.pop_back();
  return recent.front().second;
}

Result<std::string> TileSource::tile(const TileRequest& request) const {
  OPDUMP_TRY(const dump::Slot in_golden, golden_->find(request, request.golden_operator));
  OPDUMP_TRY(dump::StoredTensor golden, dump::StoredTensor::read(in_golden, dump::Alignment::any));
  OPDUMP_CHECK_OK(golden.straighten());
  const model::Shape& shape = golden.view().shape;
  std::optional<dump::StoredTensor> actual;
  if (actual_ != nullptr) {
    OPDUMP_TRY(const dump::Slot in_actual, actual_->find(request, request.actual_operator));
    OPDUMP_TRY(actual, dump::StoredTensor::read(in_actual, dump::Alignment::any));
    OPDUMP_CHECK_OK(actual->straighten());
    if (!(actual->view().shape == shape)) return Error(Code::unsupported, "the shapes differ");
  }
  for (const dump::StoredTensor* side : {&golden, actual ? &*actual : &golden})
    if (!math::has_statistics(side->view().dtype))
      return Error(Code::unsupported, "these elements have no order");
  const Region matrix = matrix_of(shape, std::min(request.across, shape.rank()));
  const MatrixPair pair{.golden = golden.view(),
                        .actual = actual ? &actual->view() : nullptr,
                        .rows = matrix.rows,
                        .columns = matrix.columns};
  if (request.row >= pair.rows || request.column >= pair.columns)
    return Error(Code::usage, "the tensor has " + std::to_string(pair.rows) + " rows and " +
                                  std::to_string(pair.columns) + " columns");
  const auto some = [](std::uint64_t wanted, std::uint64_t left) {
    return wanted > 0 ? std::min(wanted, left) : left;
  };
  const Region part{.row = request.row,
                    .column = request.column,
                    .rows = some(request.rows, pair.rows - request.row),
                    .columns = some(request.columns, pair.columns - request.column)};
  if (part.rows * part.columns <= kMostRead) return answer_of(make_max_grid(pair, part, kMostCells), pair);
  OPDUMP_TRY(const std::shared_ptr<const MaxGrid> grid, whole(request, pair));
  return answer_of(grid->pooled(grid->cells_of(part), kMostCells), pair);
}

}  // namespace opdump::serve
