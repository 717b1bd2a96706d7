// Two arrays in files of their own: the numbers go to the log.
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "base/file/file.h"
#include "base/text/text.h"
#include "msaccucmp/log.h"
#include "msaccucmp/paths.h"
#include "msaccucmp/plugins/algorithm_plugin.h"
#include "msaccucmp/python_text.h"
#include "msaccucmp/shape_text.h"
#include "msaccucmp/verbs/compare.h"

namespace opdump::msaccucmp {
namespace {

constexpr std::uint64_t kMaxText = 1 << 30;

// Numbers in rows and columns, as numpy.loadtxt reads them.
class TextArray {
 public:
  // What NumPy says of a line that it cannot read; nothing if it can.
  std::optional<std::string> add_line(std::string_view line) {
    line = line.substr(0, line.find('#'));
    std::size_t columns = 0;
    for (std::string word; !(line = trim(line)).empty();) {
      word = line.substr(0, line.find_first_of(" \t\r\n\v\f"));
      line.remove_prefix(word.size());
      ++columns;
      char* end = nullptr;
      values_->push_back(std::strtod(word.c_str(), &end));
      const bool is_only_c = word.find_first_of("xX(") != std::string::npos;  // 0x10, nan(1)
      if (*end != '\0' || is_only_c)
        return "could not convert string " + python_quoted(word) + " to float64 at row " +
               std::to_string(rows_) + ", column " + std::to_string(columns) + ".";
    }
    if (columns == 0) return std::nullopt;
    if (rows_ == 0) columns_ = columns;
    ++rows_;
    if (columns == columns_) return std::nullopt;
    return "the number of columns changed from " + std::to_string(columns_) + " to " +
           std::to_string(columns) + " at row " + std::to_string(rows_) +
           "; use `usecols` to select a subset and avoid this error";
  }

  TensorData take() {
    std::vector<std::int64_t> dims;
    for (const std::size_t dim : {rows_, columns_})
      if (dim != 1) dims.push_back(static_cast<std::int64_t>(dim));
    if (rows_ == 0) dims = {0};
    return {model::DType::float64, model::Shape(std::span<const std::int64_t>(dims)),
            reinterpret_cast<const std::byte*>(values_->data()), values_};
  }

 private:
  std::shared_ptr<std::vector<double>> values_ = std::make_shared<std::vector<double>>();
  std::size_t rows_ = 0, columns_ = 0;
};

Outcome<TensorData> read_text_array(const std::string& path, Log& log) {
  const auto text = read_file(path, kMaxText);
  if (!text) return log.fail(Status::invalid_dump, text.error().message());
  TextArray array;
  for (const std::string_view line : split(*text, '\n'))
    if (const auto problem = array.add_line(line)) {
      log.error("Failed to parse dump file \"'" + path + "'\". Only data of the numpy format is supported. " +
                *problem);
      return Failure{Status::invalid_dump, ""};
    }
  return array.take();
}

Outcome<TensorData> read_array(const std::string& path, Log& log) {
  return path.ends_with(".txt") ? read_text_array(path, log) : read_npy_array(path, log);
}

// Names above values, in columns.
void report_results(const std::vector<std::string>& names, const AlgorithmResults& results, Log& log) {
  std::string title, line;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::size_t width = std::max(title.size(), line.size());
    title.resize(width, ' ');
    line.resize(width, ' ');
    title += names[i] + " ";
    line += results.values[i] + " ";
  }
  log.info(title);
  log.info(line);
  if (results.messages.empty()) return;
  std::string list;
  for (const std::string& message : results.messages)
    list.append(list.empty() ? "" : ", ").append(python_quoted(message));
  log.info("[" + list + "]");
}

Outcome<std::monostate> compare_files(const ComparisonArguments& arguments, Log& log) {
  OPDUMP_TRY(Plugins plugins, find_plugins(arguments.custom, arguments.algorithms, false, log));
  OPDUMP_TRY(const AlgorithmSet algorithms,
             AlgorithmSet::select(
                 {arguments.algorithms, arguments.algorithm_options, std::move(plugins.algorithms)}, log));
  const std::string mine = real_text(arguments.mine), golden = real_text(arguments.golden);
  for (const std::string& path : {mine, golden})
    if (const Status status = check_path(path, PathKind::file, log); status != Status::ok)
      return Failure{status, ""};
  log.info("The my output dump file is '" + mine + "'.");
  log.info("The ground truth file is '" + golden + "'.");
  OPDUMP_TRY(const TensorData left, read_array(mine, log));
  OPDUMP_TRY(const TensorData right, read_array(golden, log));
  if (!(left.shape == right.shape))
    return log.fail(Status::invalid_shape, "My output shape " + tuple_text(left.shape) + " in ''" + mine +
                                               "'' does not match the ground truth shape " +
                                               tuple_text(right.shape) + " in ''" + golden + "''.");
  OPDUMP_TRY(const AlgorithmResults results,
             algorithms.measure(left, right, {mine, golden, is_scalar_shape(left.shape)}, 0, 0, log));
  report_results(algorithms.names(), results, log);
  return std::monostate{};
}

}  // namespace

Status compare_arrays(const ComparisonArguments& arguments) {
  Log log;
  const auto done = compare_files(arguments, log);
  log.print();
  return done ? Status::ok : done.error().status;
}

}  // namespace opdump::msaccucmp
