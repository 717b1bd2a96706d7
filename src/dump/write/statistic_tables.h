// The statistic.csv files of steps that are being written, mindspore.md 3.1, in any directory scheme.
#pragma once

#include <list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dump/write/scheme_writer.h"
#include "dump/write/step_directories.h"
#include "format/tables/statistic_csv.h"

namespace opdump::dump {

// Whether MindSpore's devices compute the statistic of a column for elements of a type, mindspore.md 3.4;
// else its text is "null".
bool device_computes(std::string_view column, model::DType dtype, StatisticSource source);

// Used by one caller at a time.
class StatisticTables {
 public:
  // `headers` are columns beyond the fixed ones, in order ("Max Value", ...); see
  // format/tables/statistic_csv.h. Errors: usage -- a header that statistic.csv does not have.
  static Result<StatisticTables> make(std::vector<std::string> headers);

  // How the scheme spells what a row says of the operator.
  struct RowName {
    std::string type, name;
    std::uint64_t task = 0;
  };
  // Errors: io.
  Result<> append(StepDirectories& directories, const SlotAddress& address, const RowName& name,
                  const StatisticRow& row);

  // Hands rows to the system. Errors: io.
  Result<> flush();

  // Flushes and closes the table of one step, if it is open. Errors: io.
  Result<> close(std::int64_t graph_id, std::int64_t step);

 private:
  using AppendValue = void (*)(std::string& out, const StatisticRow& row);
  struct Column {
    std::string_view header;
    AppendValue append;
  };
  static const Column kColumns[];

  // The table of one graph and step, with the rows that the system does not have yet.
  class OpenTable {
   public:
    explicit OpenTable(KeptFile file) : file_(std::move(file)) {}
    OpenTable(OpenTable&&) = default;
    ~OpenTable();
    Result<> append(const format::StatisticCsvRow& row);
    Result<> flush();

   private:
    KeptFile file_;
    std::string rows_;
  };

  StatisticTables() = default;
  Result<OpenTable*> find(StepDirectories& directories, const SlotAddress& address);

  std::vector<std::string> headers_;
  std::vector<AppendValue> columns_;
  // The key is the step and the graph; the last table that was asked for comes first.
  std::list<std::pair<std::pair<std::int64_t, std::int64_t>, OpenTable>> tables_;
  format::StatisticCsvRow row_;  // kept for its memory
};

}  // namespace opdump::dump
