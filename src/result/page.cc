#include "result/page.h"

#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/text/json.h"
#include "base/text/text.h"
#include "result/rows.h"

namespace opdump::result {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kDataMark = "<script type=\"application/x-opdump\" id=\"data\">";
constexpr std::string_view kNoNetwork = "connect-src 'none'";

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t bits = 0;
    for (std::size_t j = 0; j < 3; ++j)
      bits = bits << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0);
    for (std::size_t j = 0; j < 4; ++j)
      text += i + j <= bytes.size() ? kDigits[bits >> (18 - 6 * j) & 63] : '=';
  }
  return text;
}

struct PageCellJson {
  Json operator()(std::monostate) const { return nullptr; }
  Json operator()(std::int64_t value) const { return value; }
  Json operator()(double value) const {
    return std::isfinite(value) ? Json(value) : Json(std::isnan(value) ? "nan" : format_g(value));
  }
  Json operator()(std::string_view value) const { return value; }
  Json operator()(Blob value) const {
    return base64({reinterpret_cast<const char*>(value.data()), value.size()});
  }
};

// {"column": [values]}
Result<Json> columns_of(Database& database, std::string_view sql,
                        std::initializer_list<Value> parameters = {}) {
  OPDUMP_TRY(Statement statement, database.prepare(sql));
  OPDUMP_CHECK_OK(statement.bind(std::span(parameters.begin(), parameters.size())));
  std::vector<Json> columns(static_cast<std::size_t>(statement.column_count()), Json::array());
  while (true) {
    OPDUMP_TRY(const bool found, statement.next());
    if (!found) break;
    for (std::size_t i = 0; i < columns.size(); ++i)
      columns[i].push_back(std::visit(PageCellJson(), statement.value(static_cast<int>(i))));
  }
  Json table = Json::object();
  for (std::size_t i = 0; i < columns.size(); ++i)
    table[statement.column_name(static_cast<int>(i))] = std::move(columns[i]);
  return table;
}

struct PageTable {
  std::string_view name, sql;
};

// What is on a page is said in front of the queries: `chosen` are operators, `pictured` slots with pictures,
// `explained` operators with arguments. The tables of a page are those below.
constexpr PageTable kPageTables[] = {
    {"operators",
     "SELECT id, rank, graph, step, phase, type, name, actual_name, module, source_file, source_line, stack, "
     "verdict, sides, left_out, key_slot FROM operators WHERE id IN chosen ORDER BY id"},
    {"slots",
     "SELECT s.id, s.operator, s.name, s.side, s.position, s.dtype, s.actual_dtype, s.shape, s.reason, "
     "p.verdict, "
     "p.method, p.elements, p.mismatch_count, p.nan_mismatch_count, p.cosine, p.max_abs, p.max_rel, "
     "p.relative_l2, "
     "p.mean_abs, p.rmse, p.rtol, p.atol, p.worst_index, p.worst_golden, p.worst_actual, "
     "CASE WHEN p.method = 'elements' THEN coalesce((SELECT value FROM quantiles q WHERE q.slot = s.id AND "
     "q.kind = 'scaled' AND q.share = 1), 0) END AS scaled "
     "FROM slots s LEFT JOIN pairs p ON p.slot = s.id WHERE s.operator IN chosen ORDER BY s.id"},
    {"quantiles",
     "SELECT slot, kind, share, value FROM quantiles WHERE slot IN (SELECT s.id FROM slots s JOIN pairs p ON "
     "p.slot = s.id WHERE s.operator IN chosen AND p.verdict <> 'match')"},
    {"worst", "SELECT slot, position, golden, actual FROM worst WHERE slot IN pictured ORDER BY slot, place"},
    {"thumbnails",
     "SELECT slot, kind, rows, columns, across, lowest, highest, data FROM thumbnails WHERE slot IN pictured "
     "ORDER "
     "BY slot"},
    {"statistics",
     "SELECT slot, side, count, min, max, mean, l2, nan_count, inf_count, zero_count FROM statistics"
     " WHERE slot IN (SELECT id FROM slots WHERE operator IN chosen)"},
    {"dead_units",
     "SELECT o.id, o.name, o.step, o.rank, t.units, t.dead_units AS dead FROM statistics t "
     "JOIN slots s ON s.id = t.slot JOIN operators o ON o.id = s.operator WHERE t.dead_units > 0 "
     "ORDER BY 1.0 * t.dead_units / t.units DESC, o.id LIMIT 60"},
    {"overflows",
     "SELECT o.id, o.name, o.step, o.rank, s.id AS slot, s.name AS slot_name, s.dtype, t.inf_count, "
     "t.fullness "
     "FROM statistics t JOIN slots s ON s.id = t.slot JOIN operators o ON o.id = s.operator "
     "WHERE t.fullness > 0.5 AND s.side = 'output' ORDER BY t.fullness DESC, o.id LIMIT 60"},
    {"edges",
     "SELECT side, rank, graph, producer, producer_kind, output, consumer, input, dtype, shape FROM edges "
     "LIMIT (SELECT most FROM edge_limit)"},
    {"arguments",
     "SELECT DISTINCT operator, name, value, side FROM arguments WHERE operator IN explained "
     "ORDER BY operator, side, graph, position"},
    {"sources", "SELECT file, line, text FROM sources LIMIT 5000"},
    {"runs", "SELECT * FROM runs LIMIT 5000"},
    {"remarks", "SELECT kind, text FROM remarks LIMIT 1000"},
    {"culprits",
     "SELECT c.operator, c.slot, c.cause, c.confidence, c.removes, c.text, coalesce(o.name, o.actual_name) "
     "AS name, "
     "o.step, o.rank FROM culprits c LEFT JOIN operators o ON o.id = c.operator ORDER BY c.place LIMIT 100"},
};

// In a result of too many operators, those that differ.
std::string choose_for_page(const PageLimits& limits) {
  return "WITH chosen AS (SELECT id FROM operators ORDER BY verdict IN ('match', 'rounding', 'skipped'), id "
         "LIMIT " +
         std::to_string(limits.operators) +
         "), pictured AS (SELECT DISTINCT slot FROM thumbnails ORDER BY slot LIMIT " +
         std::to_string(limits.pictured) +
         "), explained AS (SELECT name FROM operators WHERE id IN chosen AND key_slot IN pictured UNION "
         "SELECT "
         "actual_name FROM operators WHERE id IN chosen AND key_slot IN pictured), edge_limit(most) AS "
         "(VALUES(" +
         std::to_string(limits.operators * 4) + ")) ";
}

// These operators; the details of one of them.
std::string choose_these(const std::vector<std::int64_t>& ids, std::int64_t detailed) {
  std::string values;
  for (const std::int64_t id : ids) values += (values.empty() ? "(" : ",(") + std::to_string(id) + ")";
  if (values.empty()) values = "(0)";
  const std::string id = std::to_string(detailed);
  return "WITH chosen(id) AS (VALUES " + values +
         "), pictured AS (SELECT id AS slot FROM slots WHERE operator = " + id +
         "), explained AS (SELECT name FROM operators WHERE id = " + id +
         " UNION SELECT actual_name FROM operators WHERE id = " + id + "), edge_limit(most) AS (VALUES(0)) ";
}

Result<> add_tables(Database& database, const std::string& choice,
                    std::initializer_list<std::string_view> wanted, Json& data) {
  for (const PageTable& table : kPageTables) {
    if (std::ranges::find(wanted, table.name) == wanted.end()) continue;
    OPDUMP_TRY(data[std::string(table.name)], columns_of(database, choice + std::string(table.sql)));
  }
  return ok();
}

Result<> add_answer(Database& database, Json& data) {
  data["version"] = 1;
  OPDUMP_TRY(const Json pairs, columns_of(database, "SELECT key, value FROM result"));
  Json& result = data["result"] = Json::object();
  for (std::size_t i = 0; i < pairs["key"].size(); ++i)
    if (pairs["key"][i].is_string()) result[pairs["key"][i].get<std::string>()] = pairs["value"][i];
  OPDUMP_TRY(Json total, columns_of(database, "SELECT count(*) AS operators FROM operators"));
  data["total_operators"] = total["operators"][0];
  return ok();
}

// Who reads what within two hops of an operator, and who else takes part in it, in the same rank and step.
struct Neighbourhood {
  Json edges = Json::object();
  std::vector<std::int64_t> ids;
};

constexpr std::string_view kEdgeColumns =
    "SELECT side, rank, graph, producer, producer_kind, output, consumer, input, dtype, shape FROM edges ";
constexpr std::size_t kMostNear = 400;

Result<Neighbourhood> find_neighbours(Database& database, std::int64_t id) {
  Neighbourhood near;
  OPDUMP_TRY(
      Statement centre,
      database.prepare("SELECT name, coalesce(actual_name, name), rank, step FROM operators WHERE id = ?"));
  const Value of_id = id;
  OPDUMP_CHECK_OK(centre.bind(std::span(&of_id, 1)));
  OPDUMP_TRY(const bool found, centre.next());
  if (!found) return Error(Code::not_found, "there is no operator " + std::to_string(id));
  const std::int64_t rank = centre.integer(2), step = centre.integer(3);
  const std::string name = centre.text(0);
  std::set<std::string> names{centre.text(0), centre.text(1)};
  std::set<std::string> frontier = names;
  std::set<Json> rows;
  for (int hop = 0; hop < 2; ++hop) {
    std::set<std::string> next;
    for (const std::string& name : frontier) {
      for (const char* end : {"consumer", "producer"}) {
        OPDUMP_TRY(
            Json part,
            columns_of(database, std::string(kEdgeColumns) + "WHERE " + end + " = ? AND rank = ? LIMIT 100",
                       {std::string_view(name), rank}));
        for (std::size_t i = 0; i < part["side"].size() && rows.size() < kMostNear; ++i) {
          Json row = Json::array();
          for (auto& column : part) row.push_back(column[i]);
          rows.insert(std::move(row));
          if (part["producer_kind"][i] == "operator") next.insert(part["producer"][i].get<std::string>());
          next.insert(part["consumer"][i].get<std::string>());
        }
        for (const auto& [key, column] : part.items())
          if (!near.edges.contains(key)) near.edges[key] = Json::array();
      }
    }
    names.insert(next.begin(), next.end());
    frontier = std::move(next);
  }
  for (const Json& row : rows) {
    std::size_t i = 0;
    for (auto& column : near.edges) column.push_back(row[i++]);
  }
  OPDUMP_TRY(Statement peers,
             database.prepare("SELECT id FROM operators WHERE name = ? AND rank = ? AND step = ?"));
  for (const std::string& name : names) {
    const Value key[] = {std::string_view(name), rank, step};
    OPDUMP_CHECK_OK(peers.bind(key));
    OPDUMP_TRY(const bool is_there, peers.next());
    if (is_there && near.ids.size() < kMostNear) near.ids.push_back(peers.integer(0));
  }
  // Adds the same operator in other steps.
  OPDUMP_CHECK_OK(each_row(database, "SELECT id FROM operators WHERE name = ? AND rank = ? LIMIT 200",
                           {std::string_view(name), rank}, [&](const Statement& other) -> Result<> {
                             return near.ids.push_back(other.integer(0)), ok();
                           }));
  near.ids.push_back(id);
  std::ranges::sort(near.ids);
  near.ids.erase(std::unique(near.ids.begin(), near.ids.end()), near.ids.end());
  return near;
}

Result<> add_operator(Database& database, std::int64_t id, Json& data) {
  OPDUMP_TRY(Neighbourhood near, find_neighbours(database, id));
  OPDUMP_CHECK_OK(add_tables(
      database, choose_these(near.ids, id),
      {"operators", "slots", "quantiles", "worst", "thumbnails", "statistics", "arguments"}, data));
  data["edges"] = std::move(near.edges);
  data["detailed"] = id;
  return ok();
}

// The culprit; without one the first bad operator, or the first with statistics.
Result<std::int64_t> operator_shown_first(Database& database) {
  OPDUMP_TRY(Statement select,
             database.prepare(
                 "SELECT operator FROM culprits WHERE place = 1 AND operator IS NOT NULL UNION ALL "
                 "SELECT value FROM result WHERE key = 'first_bad' UNION ALL SELECT * FROM (SELECT "
                 "s.operator FROM statistics t JOIN slots s ON s.id = t.slot WHERE t.side = 'golden' AND "
                 "s.side = 'output' ORDER BY t.slot LIMIT 1) UNION ALL SELECT 1"));
  OPDUMP_CHECK_OK(select.next());
  return select.integer(0);
}

std::string page_with(std::string_view asset, std::string_view data) {
  const std::size_t mark = asset.find(kDataMark) + kDataMark.size();
  std::string page(asset.substr(0, mark));
  return page.append(data).append(asset.substr(mark));
}

Result<std::string_view> asset_or_error() {
  const std::string_view asset = page_asset();
  if (asset.find(kDataMark) != std::string_view::npos) return asset;
  return Error(
      Code::unsupported,
      "this opdump was built without its pages: install npm, let it reach its registry, and build again");
}

}  // namespace

Result<std::string> page_data(Database& database, const PageLimits& limits) {
  Json data = Json::object();
  OPDUMP_CHECK_OK(add_answer(database, data));
  const std::string choice = choose_for_page(limits);
  for (const PageTable& table : kPageTables) {
    OPDUMP_TRY(data[std::string(table.name)], columns_of(database, choice + std::string(table.sql)));
  }
  return json_text(data);
}

Result<std::string> first_data(Database& database, const Overview& overview) {
  Json data = Json::object();
  OPDUMP_CHECK_OK(add_answer(database, data));
  OPDUMP_CHECK_OK(
      add_tables(database, "", {"sources", "runs", "remarks", "culprits", "dead_units", "overflows"}, data));
  OPDUMP_TRY(const std::int64_t id, operator_shown_first(database));
  if (overview.size() > 0) OPDUMP_CHECK_OK(add_operator(database, id, data));
  std::string text = json_text(data);
  text.pop_back();
  text += ",\"overview\":" + overview.summary_json();
  if (overview.has_several_ranks()) text += ",\"rank_rows\":" + overview.ranks_json();
  return text + "}";
}

Result<std::string> operator_data(Database& database, std::int64_t id) {
  Json data = Json::object();
  OPDUMP_CHECK_OK(add_operator(database, id, data));
  return json_text(data);
}

Result<std::string> deflate_text(std::string_view text) {
  uLongf size = ::compressBound(text.size());
  std::string bytes(size, '\0');
  if (::compress2(reinterpret_cast<Bytef*>(bytes.data()), &size, reinterpret_cast<const Bytef*>(text.data()),
                  text.size(), 9) != Z_OK)
    return Error(Code::internal, "zlib refused to compress");
  bytes.resize(size);
  return bytes;
}

Result<std::string> render_page(Database& database, PageLimits limits) {
  OPDUMP_TRY(const std::string_view asset, asset_or_error());
  while (true) {
    OPDUMP_TRY(const std::string data, page_data(database, limits));
    OPDUMP_TRY(const std::string packed, deflate_text(data));
    std::string page = page_with(asset, base64(packed));
    if (page.size() <= limits.bytes || (limits.operators <= 100 && limits.pictured <= 1)) return page;
    if (limits.operators > 2000 || limits.pictured <= 50)
      limits.operators = std::max<std::int64_t>(100, limits.operators / 2);
    else
      limits.pictured /= 2;
  }
}

Result<std::string> served_page() {
  OPDUMP_TRY(const std::string_view asset, asset_or_error());
  std::string page(asset);
  if (const std::size_t at = page.find(kNoNetwork); at != std::string::npos)
    page.replace(at, kNoNetwork.size(), "connect-src 'self'");
  return page;
}

}  // namespace opdump::result
