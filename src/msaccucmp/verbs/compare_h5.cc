// Two HDF5 files of PyTorch's dumper (torch_tf_frontends.md D.8).

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <utility>

#include "base/file/file_copy.h"
#include "base/file/file_replacement.h"
#include "format/tensors/npy.h"
#include "math/layout/strided_copy.h"
#include "msaccucmp/judge/result_table.h"
#include "msaccucmp/log.h"
#include "msaccucmp/paths.h"
#include "msaccucmp/plugins/algorithm_plugin.h"
#include "msaccucmp/read/dump_folder.h"
#include "msaccucmp/read/torch_dump.h"
#include "msaccucmp/shape_text.h"
#include "msaccucmp/verbs/compare.h"
#include "msaccucmp/verbs/compare_work.h"
#include "msaccucmp/write/result_csv.h"

namespace opdump::msaccucmp {
namespace {

namespace fs = std::filesystem;
using format::H5Dataset;
using Done = Outcome<std::monostate>;

constexpr unsigned kFolderMode = 0700;
constexpr double kGoodCosine = 0.95;

// Names of the attribute DataType.
std::string_view type_name(std::int64_t number) {
  constexpr std::pair<std::int64_t, std::string_view> kNames[] = {{1, "Float"}, {2, "Byte"},  {3, "Char"},
                                                                  {5, "Short"}, {6, "Int"},   {7, "Long"},
                                                                  {9, "Bool"},  {10, "Half"}, {11, "Double"}};
  for (const auto& [value, name] : kNames)
    if (value == number) return name;
  return "";
}

// int and long, and float and half, can be compared.
std::int64_t comparable_type(std::int64_t number) { return number == 7 ? 6 : number == 10 ? 1 : number; }

struct TorchPair {
  const TorchCall& call;
  const H5Dataset& mine;
  const H5Dataset& golden;
};

// Equal for processes that would compare the same.
std::string digest_of_calls(const TorchDump& mine, const TorchDump& golden) {
  std::string seen;
  for (const TorchDump* dump : {&mine, &golden})
    for (std::size_t i = 0; i < dump->call_count(); ++i) {
      const TorchCall call = dump->call(i);
      group::note_seen(seen, call.key + " " + std::to_string(call.stored_bytes));
      for (std::size_t n = call.begin; n < call.end; ++n) group::note_seen(seen, dump->tensor(n).path);
    }
  return group::digest_of(seen);
}

// A tensor as its strides arrange it, which the file keeps in an attribute.
Outcome<TensorData> arranged(const H5Dataset& dataset, TensorData data, Log& log) {
  const auto device = dataset.find_number("DeviceType");
  const auto strides = std::ranges::find(dataset.attributes, "Stride", &format::H5Attribute::name);
  if ((device != kCpuDevice && device != kGpuDevice) || strides == dataset.attributes.end() ||
      !strides->is_list)
    return data;
  model::TensorView view = data.view();
  std::int64_t last = 0;
  bool fits = strides->values.size() == data.shape.rank();
  for (std::size_t i = 0; fits && i < data.shape.rank(); ++i) {
    std::int64_t reach = 0;
    fits = strides->values[i] >= 0 &&
           !__builtin_mul_overflow(data.shape[i] - 1, strides->values[i], &reach) &&
           !__builtin_add_overflow(last, reach, &last);
    view.strides.dims()[i] = strides->values[i];
  }
  if (!fits || last >= static_cast<std::int64_t>(data.count())) {
    log.warn("[" + dataset.path + "]:shape=" + tuple_text(data.shape) +
             ",stride=" + tuple_text(model::Shape(std::span(strides->values))) + ",stride is invalid");
    return data;
  }
  if (view.is_contiguous()) return data;
  OPDUMP_TRY(const auto memory, make_memory(view.byte_count(), log));
  math::copy_row_major(view, {memory.get(), view.byte_count()});
  return TensorData{data.dtype, data.shape, memory.get(), memory};
}

class TorchComparison {
 public:
  explicit TorchComparison(const ComparisonArguments& arguments) : arguments_(arguments) {}

  Status run() {
    const auto done = compare();
    log_.print();
    return done ? status_ : done.error().status;
  }

 private:
  Done compare() {
    OPDUMP_TRY([[maybe_unused]] const std::monostate checked, check());
    for (const std::string& path : {arguments_.mine, arguments_.golden}) warn_of_size(path, log_);
    log_.info("start parse dump file!");
    OPDUMP_TRY([[maybe_unused]] const std::monostate begun, begin_table());
    OPDUMP_TRY(const TorchDump mine, TorchDump::open(real_text(arguments_.mine), true, log_));
    OPDUMP_TRY([[maybe_unused]] const std::monostate valid, check_mine(mine));
    OPDUMP_TRY(const TorchDump golden,
               TorchDump::open(real_text(arguments_.golden), mine.has_inputs(), log_));
    log_.info("pytorch precision compare start!");
    log_.print();
    const TorchPairing pairing(mine, golden);
    status_ = compare_calls(mine, golden, pairing);
    if (!is_leader(arguments_)) return std::monostate{};
    pairing.visit_unmatched([&](const TorchPairing::Unmatched& lost) {
      rows_.add(failed_row({std::to_string(lost.order), lost.op, "NaN", lost.path}, lost.message, log_));
    });
    rows_.sort();
    return write(mine, golden);
  }

  Done check() {
    output_ = real_text(arguments_.output);
    if (const Status status = check_output(output_, log_); status != Status::ok) return Failure{status, ""};
    OPDUMP_TRY(Plugins plugins, find_plugins(arguments_.custom, arguments_.algorithms, false, log_));
    OPDUMP_TRY(algorithms_, AlgorithmSet::select({arguments_.algorithms, arguments_.algorithm_options,
                                                  std::move(plugins.algorithms)},
                                                 log_));
    if (arguments_.fusion.empty() && arguments_.quant_fusion.empty() && arguments_.custom.empty() &&
        !arguments_.op && arguments_.version == 2 && !arguments_.maps)
      return std::monostate{};
    return log_.fail(
        Status::invalid_parameter,
        "The argument [-f|-q|-c|-op|-map|-v] is not supported in pytorch precision comparison scenarios.");
  }

  // The table has its header before the files are looked at, and keeps it if they cannot be compared.
  Done begin_table() {
    base_ = output_ + "/result_" + time_stamp();
    return is_leader(arguments_) ? write_table() : Done(std::monostate{});
  }

  Done check_mine(const TorchDump& mine) {
    if (mine.tensor_count() == 0) {
      log_.warn("my dump file is empty!");
      return Failure{Status::invalid_dump, ""};
    }
    if (mine.device() == kNpuDevice) return std::monostate{};
    return log_.fail(
        Status::invalid_dump,
        "My dump file is not the dump data of the model executed on the AI processor, please "
        "check -m param! A script that is recorded with \"opdump run --compat dumper\", or by a dumper with "
        "device_type=10, makes a file that can be compared.");
  }

  Status compare_calls(const TorchDump& mine, const TorchDump& golden, const TorchPairing& pairing) {
    CompareWork work;
    if (arguments_.share != nullptr) work.digest = digest_of_calls(mine, golden);
    work.count = mine.call_count();
    work.bytes_of = [&](std::size_t i) { return mine.call(i).stored_bytes; };
    work.compare = [&](std::size_t i) {
      GroupResult result;
      compare_call(mine, golden, pairing, mine.call(i), result.rows, result.log);
      return result;
    };
    work.give_up = [&](std::size_t i, const std::string& why) {
      GroupResult result;
      const TorchCall call = mine.call(i);
      add_failed({std::to_string(call.order), call.op, "NaN", "NaN"}, why, result.rows, result.log);
      return result;
    };
    WorkResult result = run_work(work, arguments_.share);
    rows_ = std::move(result.rows);
    return result.status;
  }

  void compare_call(const TorchDump& mine, const TorchDump& golden, const TorchPairing& pairing,
                    const TorchCall& call, std::vector<PackedRow>& rows, Log& log) {
    const std::string order = std::to_string(call.order);
    log.info("[" + call.op + "] Start to compare \"/" + call.op + "/" + order + "\".");
    if (call.is_empty()) return log.warn("[" + call.op + "] has no comparable data.");
    std::vector<PackedRow> made;
    bool has_match = false;
    for (std::size_t i = call.begin; i < call.end; ++i) {
      const H5Dataset tensor = mine.tensor(i);
      const auto counterpart = pairing.golden_of(call, tensor);
      has_match = has_match || counterpart;
      if (counterpart) {
        compare_tensors(mine, golden, {call, tensor, *counterpart}, made, log);
        continue;
      }
      const std::string message = "No data match with " + tensor.path + " in golden dump data.";
      if (pairing.has_golden(call)) log.warn(message);
      add_failed({order, call.op, tensor.path, "NaN"}, message, made, log);
    }
    if (!has_match) {
      made.clear();
      add_failed({order, call.op, "NaN", "NaN"}, "No data match with op:" + call.op + " in golden dump data.",
                 made, log);
    }
    std::ranges::move(made, std::back_inserter(rows));
  }

  void compare_tensors(const TorchDump& mine, const TorchDump& golden, const TorchPair& pair,
                       std::vector<PackedRow>& rows, Log& log) {
    const Row begin = {std::to_string(pair.call.order), pair.call.op, pair.mine.path, pair.golden.path};
    auto row = measured(mine, golden, pair, begin, log);
    if (!row) return add_failed(begin, row.error().message, rows, log);
    report_row(*row, log);
    rows.emplace_back(*row);
  }

  Outcome<Row> measured(const TorchDump& mine, const TorchDump& golden, const TorchPair& pair, Row row,
                        Log& log) {
    OPDUMP_TRY([[maybe_unused]] const std::monostate same, check_types(pair.mine, pair.golden, log));
    OPDUMP_TRY(const TensorData left, mine.read(pair.mine, log));
    OPDUMP_TRY(TensorData right, golden.read(pair.golden, log));
    OPDUMP_TRY(right, arranged(pair.golden, std::move(right), log));
    if (left.count() != right.count()) {
      Failure failure{Status::invalid_shape,
                      "[" + pair.call.op +
                          "] Due to the different shapes on the left and right,the left dump data(" +
                          std::to_string(left.count()) + ") can not be compared to the right dump data(" +
                          std::to_string(right.count()) +
                          "). Please check the batch of the dump data or the shape may be changed due to "
                          "optimization."};
      log.warn(failure.message);
      return failure;
    }
    const PairFacts facts{pair.mine.path, pair.golden.path, is_scalar_shape(left.shape)};
    OPDUMP_TRY(const AlgorithmResults results, algorithms_.measure(left, right, facts, 0, 1, log));
    row.push_back(left.numpy_name());
    row.push_back(shape_cell(left.shape));
    row.insert(row.end(), results.values.begin(), results.values.end());
    row.push_back(join(results.messages, ","));
    return row;
  }

  Done check_types(const H5Dataset& mine, const H5Dataset& golden, Log& log) {
    const auto left = mine.find_number("DataType"), right = golden.find_number("DataType");
    if (left && left == right) return std::monostate{};
    for (const auto& type : {left, right})
      if (!type || type_name(*type).empty())
        return Failure{Status::invalid_dump, (type ? std::to_string(*type) : "None") + " is not in list"};
    const std::string info = "my dump data path is " + mine.path + ", the data type of both sides is(" +
                             std::string(type_name(*left)) + "," + std::string(type_name(*right)) + ").";
    if (comparable_type(*left) == comparable_type(*right)) {
      log.info("The DataType on both sides are Compatible, " + info);
      return std::monostate{};
    }
    Failure failure{Status::invalid_dump, "The DataType on both sides are different, " + info};
    log.warn(failure.message);
    return failure;
  }

  void add_failed(Row row, const std::string& message, std::vector<PackedRow>& rows, Log& log) {
    rows.emplace_back(failed_row(std::move(row), message, log));
  }

  Row failed_row(Row row, const std::string& message, Log& log) const {
    row.insert(row.end(), {"NaN", "NaN"});
    const std::vector<std::string> values = algorithms_.failed_values();
    row.insert(row.end(), values.begin(), values.end());
    row.push_back(message);
    report_row(row, log);
    return row;
  }

  static void report_row(const Row& row, Log& log) {
    log.info("[" + row[1] + ":" + row[0] + "] Result: " + join(row, " "));
  }

  Row header() const {
    Row cells = {"Index", "NPUDump", "NPUDumpPath", "GroundTruthPath", "DataType", "Shape"};
    cells.insert(cells.end(), algorithms_.names().begin(), algorithms_.names().end());
    cells.emplace_back("CompareFailReason");
    return cells;
  }

  Done write(const TorchDump& mine, const TorchDump& golden) {
    OPDUMP_TRY([[maybe_unused]] const std::monostate written, write_table());
    const std::string path = base_ + ".csv";
    warn_of_size(path, log_);
    log_.info("The comparison result have been written to \"'" + path + "'\".");
    if (arguments_.post_process == 1)
      if (const auto written = write_bad(base_ + "_filtered", mine, golden); !written)
        log_.error("Failed to filtering pytorch compare result!, " + written.error().message());
    if (arguments_.advises) write_advice(output_, path, header(), rows_, {}, log_);
    return std::monostate{};
  }

  Done write_table() {
    if (const auto written = write_rows(base_ + ".csv"); !written)
      return log_.fail(Status::open_file, written.error().message());
    return std::monostate{};
  }

  Result<> write_rows(const std::string& path) {
    OPDUMP_TRY(FileReplacement file, FileReplacement::begin(path, kResultMode));
    OPDUMP_CHECK_OK(file.append(csv_line(header())));
    for (std::size_t i = 0; i < rows_.size(); ++i) OPDUMP_CHECK_OK(file.append(csv_line(rows_[i])));
    return file.finish();
  }

  // -p 1: the rows that are not good, and their tensors.
  Result<> write_bad(const std::string& folder, const TorchDump& mine, const TorchDump& golden) {
    OPDUMP_CHECK_OK(make_directories(folder, kFolderMode));
    const Row names = header();
    const auto cosine =
        static_cast<std::size_t>(std::ranges::find(names, "CosineSimilarity") - names.begin());
    OPDUMP_TRY(FileReplacement file, FileReplacement::begin(folder + "/filtered_result.csv", kResultMode));
    OPDUMP_CHECK_OK(file.append(csv_line(names)));
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const Row row = rows_[i];
      // "NaN" is no number and listed; "nan" is one that is not small.
      const std::string cell = cosine < row.size() ? row[cosine] : "NaN";
      if (cell != "NaN" && !(std::strtod(cell.c_str(), nullptr) <= kGoodCosine)) continue;
      OPDUMP_CHECK_OK(file.append(csv_line(row)));
      OPDUMP_CHECK_OK(write_tensor(folder + "/my_dump", mine, row[2]));
      OPDUMP_CHECK_OK(write_tensor(folder + "/gold_dump", golden, row[3]));
    }
    return file.finish();
  }

  Result<> write_tensor(const std::string& folder, const TorchDump& dump, const std::string& path) {
    const auto dataset = dump.find_tensor(path);
    if (!dataset || path.find("/../") != std::string::npos || path.ends_with("/..")) return ok();
    const auto data = dump.read(*dataset, log_);
    if (!data) return ok();
    const fs::path file = folder + path + ".npy";
    OPDUMP_CHECK_OK(make_directories(file.parent_path(), kFolderMode));
    OPDUMP_TRY(const std::string header,
               format::encode_npy_header(data->dtype, data->shape, format::NpySpelling::numpy));
    OPDUMP_TRY(FileReplacement written, FileReplacement::begin(file, kResultMode));
    OPDUMP_CHECK_OK(write_both(written.fd(), std::as_bytes(std::span(header)),
                               {data->bytes, data->view().byte_count()}, file));
    return written.finish();
  }

  const ComparisonArguments& arguments_;
  Log log_;
  std::string output_, base_;  // the directory, and the table's path up to ".csv"
  AlgorithmSet algorithms_;
  ResultRows rows_;
  Status status_ = Status::ok;
};

}  // namespace

Status compare_h5(const ComparisonArguments& arguments) { return TorchComparison(arguments).run(); }

}  // namespace opdump::msaccucmp
