#include "cli/compare/pairing_options.h"

#include <map>
#include <utility>

#include "compare/pairs/rows/common_rows.h"

namespace opdump::cli {
namespace {

Result<> use_rows(const std::string& rows, compare::CompareOptions& options) {
  if (rows.empty()) return ok();
  if (rows == "auto" || rows == "none") {
    options.finds_rows = rows == "auto";
    return ok();
  }
  auto wanted = compare::parse_rows(rows);
  if (!wanted) return wanted.take_error().within("--rows");
  options.rows = std::move(*wanted);
  return ok();
}

}  // namespace

void add_pairing_options(CLI::App& app, PairingArguments& arguments) {
  app.add_option(
      "--rows", arguments.rows,
      "Batches of other rows are compared in those that both have. auto: that is meant; none: never; "
      "GOLDEN=ACTUAL,...: in these");
  app.add_option("--pair-by", arguments.pair_by,
                 "How to find out which operator is which. names: by their names; operators: by what they "
                 "compute, as of different frameworks; results: by what they make, as of a program that was "
                 "written anew. Default: what explains most of the two dumps")
      ->check(CLI::IsMember({"names", "operators", "results"}));
}

Result<> use_pairing(const PairingArguments& arguments, compare::CompareOptions& options) {
  static const std::map<std::string, compare::PairBy> kWays = {{"names", compare::PairBy::names},
                                                               {"operators", compare::PairBy::operators},
                                                               {"results", compare::PairBy::results}};
  if (!arguments.pair_by.empty()) options.pair_by = kWays.at(arguments.pair_by);
  return use_rows(arguments.rows, options);
}

}  // namespace opdump::cli
