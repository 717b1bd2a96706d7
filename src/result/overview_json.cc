// What the page asks of the overview, as JSON.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <tuple>
#include <utility>

#include "base/text/json.h"
#include "base/text/natural_order.h"
#include "model/operator_traits.h"
#include "result/overview.h"

namespace opdump::result {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(double value) {
  if (std::isnan(value)) return nullptr;
  return std::isfinite(value) ? Json(value) : Json(value > 0 ? "inf" : "-inf");
}

// Seven digits, as many as a float has.
double short_of(float value) {
  if (!std::isfinite(value)) return value;
  char text[24];
  std::snprintf(text, sizeof text, "%.7g", static_cast<double>(value));
  return std::strtod(text, nullptr);
}

std::string join(const std::string& module, std::string_view name) {
  return module.empty() ? std::string(name) : module + "/" + std::string(name);
}

}  // namespace

Result<std::string> Overview::rows_json(Database& database, const Rows& rows, double tolerance) const {
  Json data = {{"total", rows.total}, {"differing", rows.differing}};
  if (rows.differing > 0) {
    const auto first = std::ranges::lower_bound(ids_, rows.first_differing) - ids_.begin();
    data["first_differing"] = {{"id", rows.first_differing},
                               {"name", texts_[names_[static_cast<std::size_t>(first)]]}};
  }
  Json& columns = data["rows"] = Json::object();
  const auto add = [&](const char* name, const auto& value) {
    Json& column = columns[name] = Json::array();
    for (const std::uint32_t row : rows.places) column.push_back(value(row));
  };
  const auto add_text = [&](const char* name, const std::vector<TextCode>& of) {
    add(name, [&](std::uint32_t row) { return texts_[of[row]]; });
  };
  const auto add_number = [&](const char* name, const std::vector<float>& of) {
    add(name, [&](std::uint32_t row) { return json_of(of[row]); });
  };
  add("id", [&](std::uint32_t row) { return ids_[row]; });
  add("rank", [&](std::uint32_t row) { return ranks_[row]; });
  add("step", [&](std::uint32_t row) { return steps_[row]; });
  add_text("phase", phases_);
  add_text("type", types_);
  add_text("name", names_);
  add_text("source", sources_);
  const double factor = std::pow(10, tolerance);
  add("verdict", [&](std::uint32_t row) { return texts_[judge(row, factor)]; });
  if (!is_comparison_) {
    for (const auto& [name, of] :
         {std::pair("l2", &norms_), std::pair("min", &least_), std::pair("maxv", &greatest_),
          std::pair("nan", &not_finite_), std::pair("zero", &zeros_)})
      add_number(name, *of);
    return json_text(data);
  }
  add("error", [&](std::uint32_t row) { return json_of(worst_of(row)); });
  OPDUMP_TRY(Statement key,
             database.prepare("SELECT p.max_abs, p.cosine, p.mismatch_count, p.elements "
                              "FROM operators o JOIN pairs p ON p.slot = o.key_slot WHERE o.id = ?"));
  constexpr const char* kMeasured[] = {"max", "cosine", "mismatch", "elements"};
  for (const char* name : kMeasured) columns[name] = Json::array();
  for (const std::int64_t id : rows.ids) {
    const Value wanted = id;
    OPDUMP_CHECK_OK(key.bind(std::span(&wanted, 1)));
    OPDUMP_TRY(const bool found, key.next());
    for (int i = 0; i < 4; ++i) {
      const bool is_known = found && !std::holds_alternative<std::monostate>(key.value(i));
      const bool is_nan = is_known && std::holds_alternative<std::string_view>(key.value(i));
      columns[kMeasured[i]].push_back(is_nan ? Json("nan") : is_known ? json_of(key.real(i)) : Json());
    }
  }
  return json_text(data);
}

std::string Overview::summary_json() const {
  const auto count_texts = [&](const std::vector<TextCode>& column) {
    std::map<TextCode, std::uint64_t> counts;
    for (const TextCode code : column) ++counts[code];
    Json list = Json::array();
    for (const auto& [code, count] : counts) list.push_back({texts_[code], count});
    return list;
  };
  const auto count_numbers = [](const auto& column) {
    std::map<std::int64_t, std::uint64_t> counts;
    for (const auto number : column) ++counts[number];
    Json list = Json::array();
    for (const auto& [number, count] : counts) list.push_back({number, count});
    return list;
  };
  Json summary = {{"verdicts", count_texts(verdicts_)},
                  {"phases", count_texts(phases_)},
                  {"types", count_texts(types_)},
                  {"steps", count_numbers(steps_)},
                  {"ranks", count_numbers(ranks_)}};
  std::string text = json_text(summary);
  text.back() = ',';
  return text + "\"lines\":" + lines_json(0, SIZE_MAX) + "}";
}

std::string Overview::name_json(std::int64_t id) const {
  const auto at = std::ranges::lower_bound(ids_, id);
  const bool is_there = at != ids_.end() && *at == id;
  const auto row = static_cast<std::size_t>(at - ids_.begin());
  return json_text(Json(is_there ? std::string(texts_[names_[row]]) : ""));
}

std::string Overview::lines_json(std::size_t begin, std::size_t end) const {
  Json list = Json::array();
  for (const Line& line : lines_) {
    const std::size_t first = std::min(begin, line.rows.size()),
                      all = std::min(end, line.rows.size()) - first;
    const std::size_t count = end > begin ? std::min(all, kMostPoints) : 0;
    Json points = Json::array();
    for (std::size_t point = 0; point < count; ++point) {
      std::size_t worst = first + point * all / count;
      for (std::size_t at = worst + 1; at < first + (point + 1) * all / count; ++at)
        if (is_worse(worst_of(line.rows[at]), worst_of(line.rows[worst]))) worst = at;
      const std::uint32_t row = line.rows[worst];
      const auto phase = std::ranges::find(distinct_phases_, phases_[row]) - distinct_phases_.begin();
      points.push_back({ids_[row], worst, json_of(short_of(worst_of(row))), phase});
    }
    list.push_back({{"rank", line.rank},
                    {"step", line.step},
                    {"size", line.rows.size()},
                    {"points", std::move(points)}});
  }
  return json_text(list);
}

std::string Overview::modules_json(const std::string& module) const {
  struct Cell {
    float worst = kNone;
    std::int64_t id = 0;
    bool missing = false, nan = false;
  };
  struct Child {
    bool has_children = false;
    std::map<std::int64_t, Cell> steps;
  };
  // Which child of `module` each text is in, as a number; none for texts that are no module within it.
  const std::string prefix = module.empty() ? "" : module + "/";
  std::vector<std::string> names;
  std::map<std::string, std::uint32_t, NaturalLess> numbers;
  std::vector<std::uint32_t> child_of(texts_.size(), UINT32_MAX);
  std::vector<char> is_deeper(texts_.size());
  std::vector<char> is_module(texts_.size());
  for (const TextCode code : modules_) is_module[code] = 1;
  for (TextCode i = 0; i < texts_.size(); ++i) {
    if (!is_module[i] || !texts_[i].starts_with(prefix)) continue;
    const std::string_view rest = texts_[i].substr(prefix.size());
    const std::string_view name =
        texts_[i].empty() && module.empty() ? kNoModule : rest.substr(0, rest.find('/'));
    if (name.empty()) continue;
    const auto [at, is_new] =
        numbers.try_emplace(std::string(name), static_cast<std::uint32_t>(names.size()));
    if (is_new) names.emplace_back(name);
    child_of[i] = at->second;
    is_deeper[i] = name.size() < rest.size();
  }
  std::vector<Child> children(names.size());
  for (std::size_t i = 0; i < ids_.size(); ++i) {
    const std::uint32_t number = child_of[modules_[i]];
    if (number == UINT32_MAX) continue;
    Child& child = children[number];
    child.has_children = child.has_children || is_deeper[modules_[i]];
    Cell& cell = child.steps[steps_[i]];
    const float value = worst_of(static_cast<std::uint32_t>(i));
    const std::string_view verdict = texts_[verdicts_[i]];
    cell.missing = cell.missing || verdict == "missing" || verdict == "extra";
    if (is_worse(value, cell.worst) || cell.id == 0) {
      cell.worst = value;
      cell.id = ids_[i];
    }
    cell.nan = cell.nan || (std::isinf(value) && !is_comparison_);
  }
  Json list = Json::array();
  for (const auto& [name, number] : numbers) {
    Json cells = Json::array();
    for (const auto& [step, cell] : children[number].steps)
      cells.push_back({step, json_of(cell.worst), cell.id, cell.missing, cell.nan});
    list.push_back({{"path", join(module, name)},
                    {"has_children", children[number].has_children},
                    {"cells", std::move(cells)}});
  }
  return json_text(list);
}

std::string Overview::ranks_json() const {
  // Operators of one name and step lie together.
  std::vector<std::uint32_t> order(ids_.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, {}, [&](std::uint32_t row) { return std::tuple(names_[row], steps_[row], row); });
  struct Row {
    std::size_t first = 0, last = 0;
    float worst = 0;
    bool is_first = false;  // a collective that differs
  };
  std::vector<Row> rows;
  for (std::size_t first = 0, last; first < order.size(); first = last) {
    Row row{.first = first};
    for (last = first; last < order.size() && names_[order[last]] == names_[order[first]] &&
                       steps_[order[last]] == steps_[order[first]];
         ++last)
      row.worst = is_worse(worst_of(order[last]), row.worst) ? worst_of(order[last]) : row.worst;
    row.last = last;
    row.is_first = row.worst > 1 && model::has_trait(texts_[types_[order[first]]], model::Trait::collective);
    rows.push_back(row);
  }
  const std::size_t count = std::min(rows.size(), kMostRankRows);
  const auto key = [&](const Row& row) { return std::tuple(!row.is_first, -row.worst, order[row.first]); };
  std::ranges::partial_sort(rows, rows.begin() + static_cast<std::ptrdiff_t>(count), {}, key);
  Json list = Json::array();
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t first = order[rows[i].first];
    Json cells = Json::array();
    for (std::size_t at = rows[i].first; at < rows[i].last && cells.size() < kMostRanks; ++at)
      cells.push_back({ranks_[order[at]], ids_[order[at]], json_of(worst_of(order[at]))});
    list.push_back({{"name", texts_[names_[first]]},
                    {"step", steps_[first]},
                    {"collective", model::has_trait(texts_[types_[first]], model::Trait::collective)},
                    {"cells", std::move(cells)}});
  }
  return json_text(list);
}

}  // namespace opdump::result
