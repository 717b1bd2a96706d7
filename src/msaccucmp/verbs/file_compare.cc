// `opdump msaccucmp file_compare`: two .npy files by eight of the ten metrics (cann.md 4.12).
#include <algorithm>

#include "base/file/file_copy.h"
#include "base/file/file_replacement.h"
#include "base/worker_pool.h"
#include "msaccucmp/judge/accuracy.h"
#include "msaccucmp/log.h"
#include "msaccucmp/paths.h"
#include "msaccucmp/python_text.h"
#include "msaccucmp/read/dumped_tensor.h"
#include "msaccucmp/shape_text.h"
#include "msaccucmp/verbs/msaccucmp.h"

namespace opdump::msaccucmp {
namespace fs = std::filesystem;
namespace {

constexpr Accuracy kMetrics[] = {Accuracy::cosine,
                                 Accuracy::max_absolute,
                                 Accuracy::accumulated_relative,
                                 Accuracy::relative_euclidean,
                                 Accuracy::mean_absolute,
                                 Accuracy::root_mean_square,
                                 Accuracy::max_relative,
                                 Accuracy::mean_relative};

Status check_file(const std::string& file) {
  if (!file.ends_with(".npy"))
    return fail(Status::invalid_file_type,
                "[file_compare] The file '" + file + "' is invalid.Only support .npy file.");
  Log log(LogMode::written);
  return check_path(file, PathKind::file, log);
}

// The array of a .npy; nothing if it cannot be read, once the reason is logged.
std::optional<TensorData> read_array(const fs::path& file) {
  Log log(LogMode::written);
  auto array = read_npy_array(file.string(), log);
  if (!array) return std::nullopt;
  return std::move(*array);
}

// What the original warns of while it computes.
void say_warnings(const AccuracyRow& row, bool is_empty, const AccuracyOptions& options) {
  if (is_empty)
    for (const std::string& name : {options.actual_name, options.golden_name})
      log_line(Severity::warning, "The dump data size is 0 in '" + name + "'.");
  for (const std::string& message : row.messages)
    if (message.starts_with("Failed to execute")) log_line(Severity::warning, message);
}

// The table of names over values, each as wide as the wider of both.
void say_table(const AccuracyRow& row) {
  std::string title, line;
  for (const Accuracy metric : kMetrics) {
    line.resize(std::max(line.size(), title.size()), ' ');
    title.resize(line.size(), ' ');
    title.append(kAccuracyNames[static_cast<std::size_t>(metric)]).append(" ");
    line.append(row.values[static_cast<std::size_t>(metric)]).append(" ");
  }
  log_line(Severity::info, title);
  log_line(Severity::info, line);
  if (row.messages.empty()) return;
  std::string list;
  for (const std::string& message : row.messages) {
    list += list.empty() ? "[" : ", ";
    list += python_quoted(message);
  }
  log_line(Severity::info, list + "]");
}

Status write_result(const AccuracyRow& row, const fs::path& directory) {
  std::string text;
  for (const Accuracy metric : kMetrics) {
    const auto index = static_cast<std::size_t>(metric);
    text.append(kAccuracyNames[index]).append(": ").append(row.values[index]).append("\n");
  }
  const fs::path path = directory / ("file_result_" + time_stamp() + ".txt");
  if (auto written = write_file_atomic(path, text, 0600); !written)
    return fail(Status::write_file, "Failed to open " + in_quotes(path.string()) + ". " +
                                        python_os_error(written.error(), path) + " ");
  log_line(Severity::info, "The file compare result have been written to " + in_quotes(path.string()) + ".");
  return Status::ok;
}

}  // namespace

Status run_file_compare(const ParsedArguments& values) {
  for (const std::string_view name : {"-m", "-g"})
    if (const Status status = check_file(values.value(name)); status != Status::ok) return status;
  const fs::path output = real_path(values.value("-out"));
  Log log(LogMode::written);
  if (check_output(values.value("-out"), log) != Status::ok)
    return fail(Status::invalid_path,
                "[file_compare] The -out parameter: " + in_quotes(values.value("-out")) + " is invalid!");
  const fs::path mine = real_path(values.value("-m")), golden = real_path(values.value("-g"));
  log.info("The my output dump file is '" + mine.string() + "'.");
  log.info("The ground truth file is '" + golden.string() + "'.");
  const auto left = read_array(mine);
  const auto right = left ? read_array(golden) : std::nullopt;
  if (!right) return Status::invalid_dump;
  if (!(left->shape == right->shape))
    return fail(Status::invalid_shape,
                "My output shape " + tuple_text(left->shape) + " in '" + python_quoted(mine.string()) +
                    "' does not match the ground truth shape " + tuple_text(right->shape) + " in '" +
                    python_quoted(golden.string()) + "'.");
  AccuracyOptions options;
  options.wanted.reset();
  for (const Accuracy metric : kMetrics) options.wanted.set(static_cast<std::size_t>(metric));
  options.actual_name = mine.string();
  options.golden_name = golden.string();
  options.threads = worker_count(0);
  const auto row = measure_accuracy(left->view(), right->view(), options);
  if (!row) return fail(Status::invalid_dump, row.error().message());
  say_warnings(*row, left->count() == 0, options);
  say_table(*row);
  return write_result(*row, output);
}

}  // namespace opdump::msaccucmp
