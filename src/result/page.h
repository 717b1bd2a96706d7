// A result as one page of HTML for a browser without a network: the page of web/, with the result in it.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "result/database.h"
#include "result/overview.h"

namespace opdump::result {

// What a page holds at most; what differs comes first.
struct PageLimits {
  std::int64_t operators = 40000;
  std::int64_t pictured = 400;                       // tensors with pictures
  std::size_t bytes = std::size_t{5} * 1000 * 1000;  // of the whole page
};

// The result as JSON: each table as an object of columns.
Result<std::string> page_data(Database& database, const PageLimits& limits);

// What a page shows first of a result with too many operators for one answer: the first bad operator, and
// overview.summary_json() as "overview".
Result<std::string> first_data(Database& database, const Overview& overview);
// The details of one operator, and the operators around it. Errors: not_found.
Result<std::string> operator_data(Database& database, std::int64_t id);

// The whole page; of a large result with fewer operators that match, and then with fewer pictures, until it
// is small enough. Errors: unsupported -- built without the pages.
Result<std::string> render_page(Database& database, PageLimits limits = {});

// The page that asks its server for the data. Errors: as render_page.
Result<std::string> served_page();

// `text` as zlib compresses it.
Result<std::string> deflate_text(std::string_view text);

// The page as the build of web/ made it; empty if it did not. In a file that the build writes.
std::string_view page_asset();

}  // namespace opdump::result
