// Two dumps, operator by operator: the table of results, or of the files that belong together.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <mutex>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/worker_pool.h"
#include "cli/msaccucmp_compare.h"
#include "cli/msaccucmp_compare_setup.h"
#include "cli/progress.h"
#include "compare/group_compare.h"
#include "compare/npu_compare.h"
#include "report/advisor.h"
#include "report/result_csv.h"

namespace opdump::cli {
namespace {

using compare::GroupResult;
using compare::Journal;
using compare::Row;

constexpr unsigned kResultMode = 0600;

// What is told while several operators are compared at once, in their order.
class OrderedResults {
 public:
  // `bytes` are those of each piece of work, for the bar.
  explicit OrderedResults(std::vector<std::uint64_t> bytes)
      : results_(bytes.size()), is_done_(bytes.size()), bytes_(std::move(bytes)) {
    for (const std::uint64_t each : bytes_) total_bytes_ += each;
  }

  void add(std::size_t i, GroupResult result) {
    const std::lock_guard lock(mutex_);
    results_[i] = std::move(result);
    is_done_[i] = true;
    if (next_ == i && is_terminal_) std::fputs("\r\033[K", stderr);  // the bar makes room for lines
    for (; next_ < results_.size() && is_done_[next_]; ++next_) print_journal(results_[next_].journal);
    progress_.update(done_bytes_ += bytes_[i], total_bytes_);
  }

  // All results as one; the rows sorted by the number of their group.
  GroupResult merge() {
    GroupResult merged;
    for (GroupResult& result : results_) {
      if (merged.status == Status::ok) merged.status = result.status;
      merged.is_matched = merged.is_matched || result.is_matched;
      std::ranges::move(result.rows, std::back_inserter(merged.rows));
    }
    std::ranges::stable_sort(merged.rows, {}, [](const Row& row) { return std::stoll(row[0]); });
    return merged;
  }

 private:
  std::mutex mutex_;  // guards all below
  std::vector<GroupResult> results_;
  std::vector<char> is_done_;
  std::vector<std::uint64_t> bytes_;
  std::uint64_t done_bytes_ = 0, total_bytes_ = 0;
  std::size_t next_ = 0;
  bool is_terminal_ = ::isatty(STDERR_FILENO) == 1;
  Progress progress_{"comparing operators"};
};

std::uint64_t bytes_of(const compare::OperatorFiles* files) {
  std::uint64_t bytes = 0;
  std::error_code error;
  if (files != nullptr)
    if (const auto size = std::filesystem::file_size(files->paths.back(), error); !error) bytes = size;
  return bytes;
}

GroupResult run_all(std::vector<std::uint64_t> bytes,
                    const std::function<GroupResult(std::size_t)>& compare_one) {
  const std::size_t count = bytes.size();
  OrderedResults results(std::move(bytes));
  parallel_for(count, 0, [&](std::size_t i) { results.add(i, compare_one(i)); });
  return results.merge();
}

std::vector<const compare::RuleGroup*> groups_of(const CompareSetup& setup) {
  if (setup.choice) return chosen_groups(*setup.choice, setup.rules);
  std::vector<const compare::RuleGroup*> groups;
  for (const compare::RuleGroup& group : setup.rules.groups()) groups.push_back(&group);
  return groups;
}

GroupResult compare_npu(const CompareSetup& setup) {
  const std::vector<compare::NpuPair> pairs = compare::pair_operators(setup.mine, setup.golden);
  const compare::Comparison comparison = setup.comparison(pairs.size());
  std::vector<std::uint64_t> bytes;
  for (const compare::NpuPair& pair : pairs) bytes.push_back(bytes_of(pair.mine));
  return run_all(std::move(bytes),
                 [&](std::size_t i) { return compare::compare_npu_pair(comparison, pairs[i]); });
}

GroupResult compare_with_rules(const CompareSetup& setup) {
  const auto groups = groups_of(setup);
  const compare::Comparison comparison = setup.comparison(groups.size());
  const auto one = setup.arguments.maps ? compare::map_group : compare::compare_group;
  std::vector<std::uint64_t> bytes;
  for (const compare::RuleGroup* group : groups) {
    bytes.push_back(0);
    for (const std::size_t member : group->members)
      bytes.back() += bytes_of(setup.mine.find(setup.rules.ops()[member].op.name, std::nullopt));
  }
  return run_all(std::move(bytes), [&](std::size_t i) { return one(comparison, *groups[i]); });
}

// Errors: those of the disk; a cell that is a formula.
Status write_table(const std::string& path, const Row& header, const std::vector<Row>& rows,
                   Journal& journal) {
  if (const auto formula = report::find_formula(rows)) {
    journal.error("Please check the value written to the csv");
    journal.error("Malicious value is not allowed to be written to the csv: " + *formula);
    return Status::unknown;
  }
  std::string text = report::csv_line(header);
  for (const Row& row : rows) text += report::csv_line(row);
  if (const auto written = write_file_atomic(path, text, kResultMode); !written) {
    journal.error("Failed to open \"'" + path + "'\". " + written.error().message());
    return Status::open_file;
  }
  return Status::ok;
}

void tell_no_match(const CompareArguments& arguments, Journal& journal) {
  if (arguments.range)
    journal.warn("The model in [" + *arguments.range + "] range does not match the dump data.");
  else if (arguments.select)
    journal.warn("The model in index list [" + *arguments.select + "] does not match the dump data.");
  else
    journal.error("The model does not match the dump data, please check the model and the dump data again.");
}

Status compare_all(const CompareSetup& setup, const std::string& prefix, Journal& journal) {
  const GroupResult result = setup.has_rules ? compare_with_rules(setup) : compare_npu(setup);
  const std::string path = setup.output + "/" + prefix + "result_" + time_stamp() + ".csv";
  const Status written = write_table(path, setup.comparison(1).columns.header(), result.rows, journal);
  if (written != Status::ok) return written;
  if (!result.is_matched) {
    tell_no_match(setup.arguments, journal);
    return Status::no_dump_file;
  }
  journal.info("The comparison result have been written to \"'" + path + "'\".");
  if (setup.arguments.advises)
    write_advice(setup.output, path, setup.comparison(1).columns.header(), result.rows,
                 setup.rules.input_nodes(), journal);
  return result.status;
}

Status map_all(const CompareSetup& setup, const std::string& prefix, Journal& journal) {
  const GroupResult result = compare_with_rules(setup);
  const std::string path = setup.output + "/" + prefix + "mapping_" + time_stamp() + ".csv";
  const Row header = compare::mapping_header(setup.choice.has_value());
  const Status written = write_table(path, header, result.rows, journal);
  if (written == Status::ok)
    journal.info("The mapping table result have been written to \"'" + path + "'\".");
  return written;
}

}  // namespace

void write_advice(const std::string& folder, const std::string& table, const Row& header,
                  const std::vector<Row>& rows, const std::vector<std::string>& input_nodes,
                  Journal& journal) {
  journal.info("Start analyzing the comparison results: \"'" + table + "'\" .");
  const report::Advice advice = report::advise(header, rows, input_nodes, journal);
  journal.info("Comparison result analysis is over.");
  journal.info("The summary of the expert advice is as follows: ");
  std::string text;
  for (const std::string& line : advice.lines()) {
    journal.info(line);
    text += line + "\n";
  }
  const std::string path = folder + "/advisor_summary.txt";
  if (const auto written = write_file_atomic(path, text, kResultMode); !written)
    journal.error("Failed to save the advisor summary, the reason is " + written.error().message() + ".");
  else
    journal.info("The advisor summary (.txt) is saved in: \"'" + path + "'\" .");
}

compare::Status compare_folders(const CompareArguments& arguments, const std::string& file_prefix) {
  Journal journal;
  const auto setup = prepare_comparison(arguments, journal);
  print_journal(journal);
  if (!setup) return setup.failure().status;
  const auto way = arguments.maps ? map_all : compare_all;
  const bool is_single = arguments.op && !arguments.op->empty();
  const Status status =
      is_single ? compare_single_operator(**setup, journal) : way(**setup, file_prefix, journal);
  print_journal(journal);
  return status;
}

}  // namespace opdump::cli
