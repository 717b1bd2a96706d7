// What `report` and `view` show: a saved result, or one that is made of one dump or two.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "base/result.h"
#include "result/database.h"

namespace opdump::cli {

struct ResultRequest {
  std::string first, second;  // a result or a dump; another dump, or nothing
  std::optional<double> rtol, atol;
  std::string save_path;  // where index_dump() keeps the result
};

void declare_result(CLI::App& app, ResultRequest& request);

struct MadeResult {
  result::Database database;
  std::string conclusion;
};

// Errors: those of dumps, comparisons and results.
Result<MadeResult> make_result(const ResultRequest& request);
// Of the dump `first` alone. Errors: those of dumps and results.
Result<MadeResult> index_dump(const ResultRequest& request);

}  // namespace opdump::cli
