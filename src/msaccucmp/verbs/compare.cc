#include "msaccucmp/verbs/compare.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <system_error>
#include <utility>

#include "base/worker_pool.h"
#include "group/group.h"
#include "msaccucmp/log.h"
#include "msaccucmp/paths.h"
#include "msaccucmp/verbs/argparse.h"
#include "msaccucmp/verbs/help.h"
#include "terminal/output.h"

namespace opdump::msaccucmp {
namespace {

namespace fs = std::filesystem;

Status refuse(std::string_view message) {
  log_line(Severity::error, message);
  return Status::invalid_parameter;
}

// What cannot be asked together, in the original's order.
Status check_choice_options(const ComparisonArguments& arguments) {
  const bool has_op = arguments.op && !arguments.op->empty();
  if (arguments.fusion.empty() && arguments.range)
    return refuse("The argument \"-r\" or \"--range\" takes effect only when the \"-f\" exists.");
  if (has_op && arguments.range)
    return refuse("The argument \"-r\" or \"--range\" exists, the \"-op\" parameter is invalid.");
  if (arguments.fusion.empty() && arguments.select)
    return refuse("The argument \"-s\" or \"--select\" takes effect only when the \"-f\" exists.");
  if (has_op && arguments.select)
    return refuse("The argument \"-s\" or \"--select\" exists, the \"-op\" parameter is invalid.");
  if (arguments.range && !arguments.range->empty() && arguments.select)
    return refuse("The argument \"-r\" and \"-s\" can not be used at the same time");
  if (arguments.max_elements < 0)
    return refuse(
        "Please enter a valid number for max_cmp_size, the max_cmp_size should be in [0, \u221E), now is " +
        std::to_string(arguments.max_elements) + ".");
  return Status::ok;
}

Status check_mapping_options(const ComparisonArguments& arguments) {
  if (arguments.op && !arguments.op->empty())
    return refuse("When --mapping or -map exists,the -op parameter is invalid.");
  if (!arguments.output_index.value_or("").empty() || !arguments.input_index.value_or("").empty())
    return refuse("When --mapping or -map exists,the -i or -o parameter is invalid.");
  if (arguments.fusion.empty() && arguments.quant_fusion.empty())
    return refuse("When --mapping or -map exists,there is need to enter the -f or -q parameter.");
  return Status::ok;
}

Status check_single_options(const ComparisonArguments& arguments) {
  const std::pair<bool, std::string_view> options[] = {
      {arguments.output_index.has_value(), "\"-o\" or \"--output_tensor\""},
      {arguments.input_index.has_value(), "\"-i\" or \"--input_tensor\""},
      {arguments.spells_top_count, "\"-n\" or \"--topn\""},
      {arguments.spells_ignoring, "\"--ignore_single_op_result\""},
      {arguments.spells_max_lines, "\"-ml\" or \"--max_line\""}};
  for (const auto& [is_given, names] : options)
    if (is_given && !arguments.op)
      return refuse("The argument '" + std::string(names) + "' takes effect only when the \"'-op'\" exists.");
  return Status::ok;
}

// An advisor looks at the whole network.
void settle_advisor(ComparisonArguments& arguments) {
  const std::pair<bool, std::string_view> hindrances[] = {
      {arguments.range.has_value(), "\"-r\" or \"--range\""},
      {arguments.select.has_value(), "\"-s\" or \"--select\""},
      {arguments.op.has_value(), "\"-op\""}};
  for (const auto& [is_given, names] : hindrances)
    if (arguments.advises && is_given) {
      log_line(Severity::warning,
               "The argument \"-advisor\" takes no effect when the " + std::string(names) + " exists.");
      arguments.advises = false;
    }
  if (!arguments.advises) return;
  log_line(Severity::warning,
           "The argument \"-advisor\" will automatically configure \"-overflow_detection\".");
  arguments.detects_overflow = true;
}

bool is_file(const std::string& path) {
  std::error_code error;
  return fs::is_regular_file(real_text(path), error);
}

// Whether -f is a directory, or why it is neither that nor a file.
Outcome<bool> is_batch(const ComparisonArguments& arguments, Log& log) {
  if (arguments.fusion.empty() || is_file(arguments.fusion)) return false;
  const Status status = check_path(arguments.fusion, PathKind::directory, log);
  if (status != Status::ok) return Failure{status, ""};
  return true;
}

Status status_of(const Outcome<Status>& done) { return done ? *done : done.error().status; }

Status compare_what_is_there(ComparisonArguments arguments) {
  Log log;
  for (const std::string& path : {arguments.mine, arguments.golden}) {
    const Status status = check_path(path, PathKind::any, log);
    log.print();
    if (status != Status::ok) return status;
  }
  const bool are_files = is_file(arguments.mine) && is_file(arguments.golden);
  if (are_files && arguments.mine.ends_with(".h5") && arguments.golden.ends_with(".h5"))
    return compare_h5(arguments);
  if (arguments.post_process) return refuse("param -p only used in pytorch session.");
  if (are_files) return is_leader(arguments) ? compare_arrays(arguments) : Status::ok;
  const auto batch = is_batch(arguments, log);
  log.print();
  if (!batch) return batch.error().status;
  if (*batch) return compare_batch(arguments);
  settle_advisor(arguments);
  return status_of(compare_folders(arguments));
}

Status run(const ComparisonArguments& arguments) {
  if (const Status status = check_choice_options(arguments); status != Status::ok) return status;
  if (arguments.version == 1)
    log_line(Severity::warning,
             "The -v argument will be deprecated. when the -v value is 1, it will be processed as 2.");
  const Status status = arguments.maps ? check_mapping_options(arguments) : check_single_options(arguments);
  if (status != Status::ok) return status;
  return arguments.maps ? status_of(compare_folders(arguments)) : compare_what_is_there(arguments);
}

// run() as one of the processes that mpirun has started, or as the only one.
Status run_in(const group::Group& group, ComparisonArguments arguments) {
  if (group.size() == 1) return run(arguments);
  group.silence_others();
  bool has_met = false;
  const unsigned threads = std::max<unsigned>(1, worker_count(0) / static_cast<unsigned>(group.size_here()));
  const group::Share share{group.rank(), group.size(), threads, [&](const std::string& mine) {
                             has_met = true;
                             return group.exchange(mine);
                           }};
  arguments.share = &share;
  const Status status = run(arguments);
  if (has_met) return status;
  // The others wait for what this process could not begin.
  const std::string why = "it could not start, exit code " + std::to_string(static_cast<int>(status));
  if (const auto withdrawn = group::withdraw(share, why); !withdrawn && group.is_leader())
    log_line(Severity::error, withdrawn.error().message());
  return status;
}

}  // namespace

bool is_leader(const ComparisonArguments& arguments) {
  return arguments.share == nullptr || arguments.share->rank == 0;
}

Result<int> run_compare(std::span<const char* const> words, std::vector<std::string> unrecognized) {
  const auto begin = std::chrono::steady_clock::now();
  const auto arguments = parse_compare_arguments(words, std::move(unrecognized));
  if (!(arguments && *arguments) && group::process_rank() != 0) return 0;  // the first one says it
  if (!arguments) {
    terminal::print_log((arguments.error().message() + "\n"));
    return kWrongUse;
  }
  if (!*arguments) {
    terminal::end_when_unread(0);
    terminal::print(kCompareUsage);
    terminal::print(kCompareHelp);
    return 0;
  }
  const auto group = group::Group::join();
  if (!group) {
    log_line(Severity::error, group.error().message());
    return static_cast<int>(Status::incomplete);
  }
  const Status status = run_in(*group, **arguments);
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - begin);
  log_line(Severity::info,
           "The command was completed and took " + std::to_string(seconds.count()) + " seconds.");
  return static_cast<int>(status);
}

}  // namespace opdump::msaccucmp
