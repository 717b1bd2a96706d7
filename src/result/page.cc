#include "result/page.h"

#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text/text.h"

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

// The operators of a page are those numbered in `chosen`: in a result of too many those that differ.
constexpr std::string_view kChosen =
    "WITH chosen AS (SELECT id FROM operators ORDER BY verdict IN ('match', 'skipped'), id LIMIT ?1), "
    "pictured AS (SELECT DISTINCT slot FROM thumbnails ORDER BY slot LIMIT ?2) ";
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
     "SELECT slot, kind, share, value FROM quantiles WHERE slot IN (SELECT slot FROM pairs WHERE verdict <> "
     "'match')"
     " AND slot IN (SELECT id FROM slots WHERE operator IN chosen)"},
    {"worst", "SELECT slot, position, golden, actual FROM worst WHERE slot IN pictured ORDER BY slot, place"},
    {"thumbnails",
     "SELECT slot, kind, rows, columns, across, lowest, highest, data FROM thumbnails WHERE slot IN pictured "
     "ORDER "
     "BY slot"},
    {"statistics",
     "SELECT slot, side, count, min, max, mean, l2, nan_count, inf_count, zero_count FROM statistics"
     " WHERE slot IN (SELECT id FROM slots WHERE operator IN chosen)"},
    {"edges",
     "SELECT side, rank, graph, producer, producer_kind, output, consumer, input, dtype, shape FROM edges "
     "LIMIT ?1 * 4"},
    {"arguments",
     "SELECT DISTINCT operator, name, value FROM arguments WHERE operator IN (SELECT name FROM operators "
     "WHERE id IN "
     "chosen AND key_slot IN pictured) ORDER BY operator, side, graph, position"},
    {"sources", "SELECT file, line, text FROM sources LIMIT 5000"},
    {"runs", "SELECT * FROM runs LIMIT 5000"},
    {"remarks", "SELECT kind, text FROM remarks LIMIT 1000"},
};

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
  data["version"] = 1;
  OPDUMP_TRY(const Json pairs, columns_of(database, "SELECT key, value FROM result"));
  Json& result = data["result"] = Json::object();
  for (std::size_t i = 0; i < pairs["key"].size(); ++i)
    if (pairs["key"][i].is_string()) result[pairs["key"][i].get<std::string>()] = pairs["value"][i];
  OPDUMP_TRY(Json total, columns_of(database, "SELECT count(*) AS operators FROM operators"));
  data["total_operators"] = total["operators"][0];
  for (const PageTable& table : kPageTables) {
    OPDUMP_TRY(data[std::string(table.name)], columns_of(database, std::string(kChosen).append(table.sql),
                                                         {limits.operators, limits.pictured}));
  }
  return data.dump(-1, ' ', false, Json::error_handler_t::replace);
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
