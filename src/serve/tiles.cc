#include "serve/tiles.h"

#include <malloc.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <functional>
#include <list>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "base/text/json.h"
#include "compare/names.h"
#include "dump/read/dump_set.h"
#include "math/stats/stats.h"

namespace opdump::serve {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

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

// A dump, or a step of one, in which operators are found by their names.
class OpenDump {
 public:
  explicit OpenDump(dump::DumpSet opened) : dump_(std::move(opened)) {
    by_name_.reserve(dump_.runs().size());
    for (std::uint32_t i = 0; i < dump_.runs().size(); ++i)
      by_name_.emplace_back(std::hash<std::string>()(compare::operator_name(dump_.runs().without_slots(i))),
                            i);
    std::ranges::sort(by_name_);
  }

  std::optional<dump::Slot> find(const TileRequest& request, const std::string& name) const {
    std::optional<dump::Slot> found;
    const std::size_t hash = std::hash<std::string>()(name);
    for (auto at = std::ranges::lower_bound(by_name_, std::pair(hash, 0u));
         at != by_name_.end() && at->first == hash; ++at) {
      const dump::OperatorRun run = dump_.runs()[at->second];
      if (compare::operator_name(run) != name) continue;
      if (run.step != request.step || (found && run.graph_id != request.graph)) continue;
      if (run.rank != request.rank && dump_.statuses().size() > 1) continue;
      for (const dump::Slot& slot : run.slots)
        if (compare::slot_name(slot) == request.slot && !slot.file.empty()) found = slot;
    }
    return found;
  }

 private:
  dump::DumpSet dump_;
  std::vector<std::pair<std::size_t, std::uint32_t>> by_name_;  // hashes of names, and runs; sorted
};

}  // namespace

struct TileSource::Grids {
  using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::string, std::string, std::string,
                         std::size_t>;
  std::mutex mutex;  // also while one is made: who asks for the same waits
  std::list<std::pair<Key, std::shared_ptr<const MaxGrid>>> recent;
};

// One of the dumps.
class TileSource::Side {
 public:
  explicit Side(fs::path path) : path_(std::move(path)) {}

  struct Found {
    std::shared_ptr<const OpenDump> dump;  // that the slot is of
    dump::Slot slot;
  };
  // Errors: not_found; those of DumpSet::open.
  Result<Found> find(const TileRequest& request, const std::string& name) {
    if (const auto step = step_directory(request))
      if (const auto opened = open(*step))
        if (auto slot = (*opened)->find(request, name)) return Found{*opened, std::move(*slot)};
    OPDUMP_TRY(const std::shared_ptr<const OpenDump> opened, open(path_));
    if (auto slot = opened->find(request, name)) return Found{opened, std::move(*slot)};
    return Error(Code::not_found, "the dump has no elements of " + name + " " + request.slot);
  }

 private:
  // rank_R/{net}/{graph}/{step}, if exactly one net has it.
  std::optional<fs::path> step_directory(const TileRequest& request) const {
    std::optional<fs::path> found;
    std::error_code failed;
    const fs::path rank = path_ / ("rank_" + std::to_string(request.rank));
    for (fs::directory_iterator net(rank, failed), end; !failed && net != end; net.increment(failed)) {
      const fs::path step = net->path() / std::to_string(request.graph) / std::to_string(request.step);
      std::error_code none;
      if (!fs::is_directory(step, none)) continue;
      if (found) return std::nullopt;
      found = step;
    }
    return found;
  }

  Result<std::shared_ptr<const OpenDump>> open(const fs::path& path) {
    const std::lock_guard lock(mutex_);
    const auto known = std::ranges::find(recent_, path, &Opened::first);
    if (known != recent_.end()) {
      recent_.splice(recent_.begin(), recent_, known);
      return recent_.front().second;
    }
    if (recent_.size() == kDumpsKept) recent_.pop_back();
    ::malloc_trim(
        0);  // what the last one took goes back before the next one takes as much, on another thread
    OPDUMP_TRY(dump::DumpSet dump, dump::DumpSet::open(path));
    recent_.emplace_front(path, std::make_shared<const OpenDump>(std::move(dump)));
    ::malloc_trim(0);
    return recent_.front().second;
  }

  using Opened = std::pair<fs::path, std::shared_ptr<const OpenDump>>;
  static constexpr std::size_t kDumpsKept = 1;
  const fs::path path_;
  std::mutex mutex_;  // also while one is opened: who wants it too waits
  std::list<Opened> recent_;
};

Result<TileSource> TileSource::open(const std::string& golden, const std::string& actual) {
  for (const std::string* path : {&golden, &actual}) {
    std::error_code failed;
    if (!path->empty() && !fs::exists(*path, failed))
      return Error(Code::not_found, *path + ": there is no such dump");
  }
  TileSource source;
  source.grids_ = std::make_shared<Grids>();
  source.golden_ = std::make_shared<Side>(golden);
  if (!actual.empty()) source.actual_ = std::make_shared<Side>(actual);
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
  OPDUMP_TRY(const Side::Found in_golden, golden_->find(request, request.golden_operator));
  OPDUMP_TRY(dump::StoredTensor golden, dump::StoredTensor::read(in_golden.slot, dump::Alignment::any));
  OPDUMP_CHECK_OK(golden.straighten());
  const model::Shape& shape = golden.view().shape;
  std::optional<dump::StoredTensor> actual;
  if (actual_ != nullptr) {
    OPDUMP_TRY(const Side::Found in_actual, actual_->find(request, request.actual_operator));
    OPDUMP_TRY(actual, dump::StoredTensor::read(in_actual.slot, dump::Alignment::any));
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
