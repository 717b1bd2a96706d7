#include "serve/tiles.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/text/text.h"
#include "compare/names.h"
#include "math/convert.h"
#include "math/stats/stats.h"

namespace opdump::serve {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kMostCells = 256;  // in each direction

struct Grid {
  std::uint64_t rows = 1, columns = 1;
};

Grid grid_of(const model::Shape& shape, std::size_t across) {
  Grid grid;
  for (std::size_t axis = 0; axis < shape.rank(); ++axis)
    (axis < across ? grid.rows : grid.columns) *= static_cast<std::uint64_t>(shape[axis]);
  return grid;
}

// Row-major elements as doubles, whatever their strides.
class ElementReader {
 public:
  explicit ElementReader(const model::TensorView& view) : view_(view), is_contiguous_(view.is_contiguous()) {}
  double at(std::uint64_t index) const {
    if (is_contiguous_)
      return math::element_as_double(view_.dtype, view_.data, static_cast<std::int64_t>(index));
    std::int64_t offset = 0;
    for (std::size_t axis = view_.shape.rank(); axis-- > 0;) {
      const auto size = static_cast<std::uint64_t>(view_.shape[axis]);
      offset += static_cast<std::int64_t>(index % size) * view_.strides[axis];
      index /= size;
    }
    return math::element_as_double(view_.dtype, view_.data, offset);
  }

 private:
  const model::TensorView& view_;
  bool is_contiguous_;
};

// NaN is worse than everything.
void raise(double& cell, double value) {
  if (std::isnan(cell)) return;
  if (std::isnan(value) || std::abs(value) > std::abs(cell)) cell = value;
}

Json numbers_json(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double value : values)
    list.push_back(std::isfinite(value) ? Json(value) : Json(std::isnan(value) ? "nan" : format_g(value)));
  return list;
}

double difference_of(double g, double a) {
  if (a == g || (std::isnan(a) && std::isnan(g))) return 0;
  return std::isfinite(a) && std::isfinite(g) ? a - g : NAN;
}

}  // namespace

TileSource::OpenDump::OpenDump(dump::DumpSet opened) : dump(std::move(opened)) {
  for (std::uint32_t i = 0; i < dump.runs().size(); ++i)
    by_name.emplace(compare::operator_name(dump.runs().without_slots(i)), i);
}

Result<dump::Slot> TileSource::OpenDump::find(const TileRequest& request, const std::string& name) const {
  std::optional<dump::Slot> found;
  const auto [first, last] = by_name.equal_range(name);
  for (auto at = first; at != last; ++at) {
    const dump::OperatorRun run = dump.runs()[at->second];
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
  OPDUMP_TRY(dump::DumpSet first, dump::DumpSet::open(golden));
  source.golden_ = std::make_shared<const OpenDump>(std::move(first));
  if (actual.empty()) return source;
  OPDUMP_TRY(dump::DumpSet second, dump::DumpSet::open(actual));
  source.actual_ = std::make_shared<const OpenDump>(std::move(second));
  return source;
}

Result<std::string> TileSource::tile(const TileRequest& request) const {
  OPDUMP_TRY(const dump::Slot in_golden, golden_->find(request, request.golden_operator));
  OPDUMP_TRY(const dump::StoredTensor golden, dump::StoredTensor::read(in_golden, dump::Alignment::any));
  const model::Shape& shape = golden.view().shape;
  std::optional<dump::StoredTensor> actual;
  if (actual_ != nullptr) {
    OPDUMP_TRY(const dump::Slot in_actual, actual_->find(request, request.actual_operator));
    OPDUMP_TRY(actual, dump::StoredTensor::read(in_actual, dump::Alignment::any));
    if (!(actual->view().shape == shape)) return Error(Code::unsupported, "the shapes differ");
  }
  if (!math::has_statistics(golden.view().dtype))
    return Error(Code::unsupported, "these elements have no order");
  const Grid grid = grid_of(shape, std::min(request.across, shape.rank()));
  if (request.row >= grid.rows || request.column >= grid.columns)
    return Error(Code::usage, "the tensor has " + std::to_string(grid.rows) + " rows and " +
                                  std::to_string(grid.columns) + " columns");
  const std::uint64_t rows = std::min(request.rows > 0 ? request.rows : grid.rows, grid.rows - request.row);
  const std::uint64_t columns =
      std::min(request.columns > 0 ? request.columns : grid.columns, grid.columns - request.column);
  const std::uint64_t height = std::min(rows, kMostCells), width = std::min(columns, kMostCells);
  std::vector<double> of_golden(height * width), of_actual, differences;
  if (actual) of_actual = differences = of_golden;
  const ElementReader g(golden.view());
  const std::optional<ElementReader> a = actual ? std::optional<ElementReader>(actual->view()) : std::nullopt;
  for (std::uint64_t row = 0; row < rows; ++row)
    for (std::uint64_t column = 0; column < columns; ++column) {
      const std::uint64_t index = (request.row + row) * grid.columns + request.column + column;
      const std::uint64_t cell = row * height / rows * width + column * width / columns;
      const double value = g.at(index);
      raise(of_golden[cell], value);
      if (!a) continue;
      const double other = a->at(index);
      raise(of_actual[cell], other);
      raise(differences[cell], difference_of(value, other));
    }
  Json tile = {{"rows", grid.rows},        {"columns", grid.columns}, {"row", request.row},
               {"column", request.column}, {"shown_rows", rows},      {"shown_columns", columns},
               {"height", height},         {"width", width},          {"golden", numbers_json(of_golden)}};
  if (a) {
    tile["actual"] = numbers_json(of_actual);
    tile["difference"] = numbers_json(differences);
  }
  return tile.dump();
}

}  // namespace opdump::serve
