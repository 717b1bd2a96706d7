// Two dumps, operator by operator: the table of results, or of the files that belong together.
#include <algorithm>
#include <filesystem>
#include <numeric>
#include <optional>
#include <system_error>
#include <utility>

#include "base/file/file_replacement.h"
#include "base/worker_pool.h"
#include "msaccucmp/judge/group_compare.h"
#include "msaccucmp/judge/npu_compare.h"
#include "msaccucmp/log.h"
#include "msaccucmp/paths.h"
#include "msaccucmp/read/dump_folder.h"
#include "msaccucmp/verbs/compare.h"
#include "msaccucmp/verbs/compare_setup.h"
#include "msaccucmp/verbs/compare_work.h"
#include "msaccucmp/write/advisor.h"
#include "msaccucmp/write/result_csv.h"
#include "terminal/progress.h"

namespace opdump::msaccucmp {
namespace {

// As processes share the work, and a bar shows how far it is.
bool needs_sizes(const CompareSetup& setup) {
  return setup.arguments.share != nullptr || terminal::Progress::is_shown();
}

// Returns the size of the newest file.
std::uint64_t bytes_of(const OperatorFiles& files) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(files.paths.back(), error);
  return error ? 0 : size;
}

std::vector<std::uint32_t> groups_of(const CompareSetup& setup) {
  if (setup.choice) return chosen_groups(*setup.choice, setup.rules);
  std::vector<std::uint32_t> groups(setup.rules.group_count());
  std::iota(groups.begin(), groups.end(), 0U);
  return groups;
}

// Names and sizes: equal for processes that would compare the same.
void note_files(std::string& seen, const DumpFolder& folder) {
  const FilesByOperator& files = folder.files();
  for (auto op = files.after({}); !op.is_none(); op = files.after(op))
    for (const std::string& path : files.at(op).paths) {
      std::error_code error;
      group::note_seen(seen, path.substr(path.rfind('/') + 1) + " " +
                                 std::to_string(std::filesystem::file_size(path, error)));
    }
}

// Empty if only one process works.
std::string digest_of_files(const CompareSetup& setup) {
  std::string seen;
  if (setup.arguments.share == nullptr) return seen;
  note_files(seen, setup.mine);
  note_files(seen, setup.golden);
  for (std::uint32_t op = 0; op < setup.rules.op_count(); ++op)
    group::note_seen(seen, setup.rules.name_of(op));
  return group::digest_of(seen);
}

WorkResult compare_npu(const CompareSetup& setup) {
  const std::vector<NpuPair> pairs = pair_operators(setup.mine, setup.golden);
  const GroupComparison comparison = setup.comparison(pairs.size());
  CompareWork work;
  work.digest = digest_of_files(setup);
  work.count = pairs.size();
  if (needs_sizes(setup))
    work.bytes_of = [&](std::size_t i) -> std::uint64_t {
      return pairs[i].mine.is_none() ? 0 : bytes_of(setup.mine.files().at(pairs[i].mine));
    };
  work.compare = [&](std::size_t i) { return compare_npu_pair(comparison, i, pairs[i]); };
  work.give_up = [&](std::size_t i, const std::string& why) {
    return give_up_npu_pair(comparison, i, pairs[i], why);
  };
  return run_work(work, setup.arguments.share);
}

WorkResult compare_with_rules(const CompareSetup& setup) {
  const auto groups = groups_of(setup);
  const GroupComparison comparison = setup.comparison(groups.size());
  const bool is_map = setup.arguments.maps;
  CompareWork work;
  work.digest = digest_of_files(setup);
  work.count = groups.size();
  if (needs_sizes(setup))
    work.bytes_of = [&](std::size_t i) {
      std::uint64_t bytes = 0;
      for (const std::uint32_t op : setup.rules.members(groups[i]))
        if (const auto files = setup.mine.find(setup.rules.name_of(op), std::nullopt))
          bytes += bytes_of(*files);
      return bytes;
    };
  work.compare = [&](std::size_t i) {
    return is_map ? map_group(comparison, groups[i]) : compare_group(comparison, groups[i]);
  };
  work.give_up = [&](std::size_t i, const std::string& why) {
    return give_up_group(comparison, groups[i], is_map, why);
  };
  return run_work(work, setup.arguments.share);
}

constexpr std::size_t kRowsAtOnce = 256, kPartsAtOnce = 64;

// The lines of a part of a table, or the first cell that is a formula.
struct TablePart {
  std::string lines;
  std::optional<std::string> formula;
};

TablePart format_part(const ResultRows& rows, std::size_t begin, std::size_t end) {
  TablePart part;
  for (std::size_t i = begin; i < end; ++i) {
    const Row row = rows[i];
    if ((part.formula = find_formula(row))) break;
    part.lines += csv_line(row);
  }
  return part;
}

// Writes a table. A formula in it counts more than what is wrong with the disk, which it is looked for after.
class TableWriter {
 public:
  TableWriter(const std::string& path, Log& log) : path_(path), log_(log) {}

  Status write(const Row& header, const ResultRows& rows) {
    const Result<> written = write_all(header, rows);
    if (formula_) {
      log_.error("Please check the value written to the csv");
      log_.error("Malicious value is not allowed to be written to the csv: " + *formula_);
      return Status::unknown;
    }
    if (written) return Status::ok;
    log_.error("Failed to open \"'" + path_ + "'\". " + written.error().message());
    return Status::open_file;
  }

 private:
  Result<> write_all(const Row& header, const ResultRows& rows) {
    auto file = FileReplacement::begin(path_, kResultMode);
    Result<> written = file ? file->append(csv_line(header)) : Result<>(Error(file.error()));
    for (std::size_t begin = 0; begin < rows.size() && !formula_; begin += kPartsAtOnce * kRowsAtOnce) {
      const std::string text = format_rows(rows, begin);
      if (written) written = file->append(text);
    }
    if (!written || formula_) return written;
    return file->finish();
  }

  // Some rows from `begin` on, until there is a formula.
  std::string format_rows(const ResultRows& rows, std::size_t begin) {
    std::vector<TablePart> parts(kPartsAtOnce);
    parallel_for(parts.size(), 0, [&](std::size_t i) {
      const std::size_t first = begin + i * kRowsAtOnce;
      parts[i] = format_part(rows, first, std::min(first + kRowsAtOnce, rows.size()));
    });
    std::string text;
    for (TablePart& part : parts) {
      text += part.lines;
      if (part.formula && !formula_) formula_ = std::move(part.formula);
    }
    return text;
  }

  const std::string& path_;
  Log& log_;
  std::optional<std::string> formula_;  // the first cell that is one
};

void report_no_match(const ComparisonArguments& arguments, Log& log) {
  if (arguments.range)
    log.warn("The model in [" + *arguments.range + "] range does not match the dump data.");
  else if (arguments.select)
    log.warn("The model in index list [" + *arguments.select + "] does not match the dump data.");
  else
    log.error("The model does not match the dump data, please check the model and the dump data again.");
}

Status compare_all(const CompareSetup& setup, const std::string& prefix, Log& log) {
  const WorkResult result = setup.has_rules ? compare_with_rules(setup) : compare_npu(setup);
  if (!is_leader(setup.arguments)) return result.status;
  const std::string path = setup.output + "/" + prefix + "result_" + time_stamp() + ".csv";
  const Status written = TableWriter(path, log).write(setup.comparison(1).columns.header(), result.rows);
  if (written != Status::ok) return written;
  warn_of_size(path, log);
  if (!result.is_matched) {
    report_no_match(setup.arguments, log);
    return result.status == Status::incomplete ? result.status : Status::no_dump_file;
  }
  log.info("The comparison result have been written to \"'" + path + "'\".");
  if (setup.arguments.advises)
    write_advice(setup.output, path, setup.comparison(1).columns.header(), result.rows,
                 setup.rules.input_nodes(), log);
  return result.status;
}

Status map_all(const CompareSetup& setup, const std::string& prefix, Log& log) {
  const WorkResult result = compare_with_rules(setup);
  if (!is_leader(setup.arguments)) return result.status;
  const std::string path = setup.output + "/" + prefix + "mapping_" + time_stamp() + ".csv";
  const Row header = mapping_header(setup.has_sequence());
  const Status written = TableWriter(path, log).write(header, result.rows);
  if (written == Status::ok) log.info("The mapping table result have been written to \"'" + path + "'\".");
  return written == Status::ok && result.status == Status::incomplete ? result.status : written;
}

}  // namespace

void write_advice(const std::string& folder, const std::string& table, const Row& header,
                  const ResultRows& rows, const std::vector<std::string>& input_nodes, Log& log) {
  log.info("Start analyzing the comparison results: \"'" + table + "'\" .");
  const Advice advice = advise(header, rows, input_nodes, log);
  log.info("Comparison result analysis is over.");
  log.info("The summary of the expert advice is as follows: ");
  std::string text;
  for (const std::string& line : advice.lines()) {
    log.info(line);
    text += line + "\n";
  }
  const std::string path = folder + "/advisor_summary.txt";
  if (const auto written = write_file_atomic(path, text, kResultMode); !written)
    log.error("Failed to save the advisor summary, the reason is " + written.error().message() + ".");
  else
    log.info("The advisor summary (.txt) is saved in: \"'" + path + "'\" .");
}

Outcome<Status> compare_folders(const ComparisonArguments& arguments, const std::string& file_prefix) {
  Log log;
  const bool is_single = arguments.op && !arguments.op->empty();
  if (is_single && !is_leader(arguments)) return Status::ok;
  const auto setup = prepare_comparison(arguments, log);
  log.print();
  if (!setup) return setup.error();
  const auto way = arguments.maps ? map_all : compare_all;
  const Status status = is_single ? compare_single_operator(**setup, log) : way(**setup, file_prefix, log);
  log.print();
  return status;
}

}  // namespace opdump::msaccucmp
