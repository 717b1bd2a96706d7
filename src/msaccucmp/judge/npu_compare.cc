#include "msaccucmp/judge/npu_compare.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <tuple>
#include <utility>

#include "msaccucmp/judge/overflow.h"
#include "msaccucmp/judge/slices.h"
#include "msaccucmp/log.h"
#include "msaccucmp/read/file_times.h"
#include "msaccucmp/shape_text.h"

namespace opdump::msaccucmp {
namespace {

// Names the data type by its number in the message; "NaN" for those that the original cannot read.
std::string dtype_cell(std::int32_t number) {
  constexpr std::string_view kNames[] = {"int8",  "float32", "float16", "int8",   "uint8", "int16",  "uint16",
                                         "int32", "int64",   "uint32",  "uint64", "bool",  "float64"};
  constexpr std::pair<std::int32_t, std::string_view> kMore[] = {
      {16, "complex64"}, {17, "complex128"}, {23, "int64"},       {27, "bfloat16"},
      {29, "uint1"},     {33, "hifloat8"},   {34, "float8_e5m2"}, {35, "float8_e4m3fn"}};
  if (number >= 0 && static_cast<std::size_t>(number) < std::size(kNames))
    return std::string(kNames[static_cast<std::size_t>(number)]);
  for (const auto& [value, name] : kMore)
    if (value == number) return std::string(name);
  return "NaN";
}

std::string address_cell(const DumpedTensor& tensor) {
  return tensor.address == 0 ? "NaN" : std::to_string(tensor.address);
}

// Bools as the numbers 0 and 1.
TensorData as_numbers(TensorData data) {
  if (data.dtype == model::DType::boolean) data.dtype = model::DType::uint8;
  return data;
}

class PairComparer {
 public:
  PairComparer(const GroupComparison& comparison, std::size_t index, const NpuPair& pair)
      : comparison_(comparison), index_(index), pair_(pair) {}

  GroupResult compare() {
    open();
    for (const OperatorFiles* files : {&mine_, &golden_})
      if (!files->paths.empty()) warn_of_times(*files, log());
    if (pair_.mine.is_none() || pair_.golden.is_none()) {
      add_alone();
      return std::move(result_);
    }
    auto mine = read(mine_, comparison_.mine, "Left");
    if (!mine) return failed(mine.error());
    auto golden = read(golden_, comparison_.golden, "Right");
    if (!golden) return failed(golden.error());
    result_.is_matched = true;
    compare_operators(*mine, *golden);
    return std::move(result_);
  }

  GroupResult give_up(const std::string& why) {
    open();
    name_ = key_;
    log().error("[" + name_ + "] " + why);
    return failed({Status::incomplete, why});
  }

 private:
  Log& log() { return result_.log; }
  bool has_mine() const { return !pair_.mine.is_none(); }

  void open() {
    if (has_mine()) mine_ = comparison_.mine.files().at(pair_.mine);
    if (!pair_.golden.is_none()) golden_ = comparison_.golden.files().at(pair_.golden);
    key_ = has_mine() ? mine_.key : golden_.key;
  }

  void add_row(const ResultEntry& entry, const std::string& my_op, const std::string& golden_op) {
    const Row row = comparison_.columns.row(static_cast<int>(index_), 0, my_op, golden_op, entry);
    log().info("[" + name_ + "] Result: " + join(row, " "));
    result_.rows.emplace_back(row);
  }

  void add_failed(std::vector<std::string> messages, const std::string& my_op, const std::string& golden_op) {
    ResultEntry entry;
    entry.op_type = "NaN";
    entry.values = comparison_.algorithms.failed_values();
    entry.messages = std::move(messages);
    add_row(entry, my_op, golden_op);
  }

  void add_alone() {
    result_.status = Status::no_dump_file;
    name_ = key_;
    const std::string message = "[" + key_ + "] There is no the " +
                                (has_mine() ? "ground truth" : "my output") + " dump file for the op \"" +
                                key_ + "\".";
    log().warn(message);
    add_failed({message}, has_mine() ? key_ : "*", has_mine() ? "*" : key_);
  }

  GroupResult failed(const Failure& failure) {
    result_.status = failure.status;
    result_.is_matched = true;
    add_failed({failure.message}, name_, name_);
    return std::move(result_);
  }

  // The operator in `files`. What it is called in the message counts only if that has attributes.
  Outcome<DumpedOperator> read(const OperatorFiles& files, const DumpFolder& folder, std::string_view side) {
    if (name_.empty()) name_ = key_;
    OPDUMP_TRY(DumpedOperator op, read_slices(files, log()));
    if (files.mode != TaskMode::normal)
      log().info("The \"" + key_ + "\" in the path \"" + folder.path() +
                 "\" is FFTS+ dump data. After process the output data, the file path is \"" + op.path +
                 "\".");
    log().info("[" + key_ + "] [" + std::string(side) + "] " + op.path);
    if (side == "Left" && !op.name.empty() && !op.attributes.empty()) name_ = op.name;
    return op;
  }

  void compare_operators(const DumpedOperator& mine, const DumpedOperator& golden) {
    std::vector<ResultEntry> entries;
    std::vector<std::string> problems, messages;
    if (!mine.is_whole)
      messages.emplace_back(
          "This is a FFTS+ mode dump data, The number of files does not match the number of thread");
    for (const bool is_input : {true, false}) {
      const auto& left = is_input ? mine.inputs : mine.outputs;
      const auto& right = is_input ? golden.inputs : golden.outputs;
      if (auto problem = find_problem(left, right, is_input ? "input" : "output")) {
        problems.push_back(std::move(*problem));
        continue;
      }
      for (std::size_t i = 0; i < left.size(); ++i)
        entries.push_back(compare_tensors(mine, golden, left[i], right[i], is_input, i));
    }
    if (problems.size() == 2) {
      result_.status = Status::invalid_dump;
      messages.insert(messages.end(), problems.begin(), problems.end());
      return add_failed(std::move(messages), name_, name_);
    }
    for (const ResultEntry& entry : entries) add_row(entry, name_, name_);
  }

  // Why the tensors of one side cannot be compared.
  std::optional<std::string> find_problem(const std::vector<DumpedTensor>& mine,
                                          const std::vector<DumpedTensor>& golden, const std::string& side) {
    const std::string begin = "[" + key_ + "] The ";
    if (mine.size() != golden.size()) {
      const std::string message = begin + "number of " + side + " does not match (" +
                                  std::to_string(mine.size()) + " vs " + std::to_string(golden.size()) + ").";
      log().warn(message);
      return message;
    }
    if (mine.empty()) {
      const std::string message =
          "[" + key_ + "] There is no " + side + ". Skip the " + key_ + ":" + side + ".";
      log().info(message);
      return message;
    }
    for (std::size_t i = 0; i < mine.size(); ++i) {
      if (mine[i].shape == golden[i].shape) continue;
      const std::string message = begin + "shape does not match (" + shape_text(mine[i].shape) + " vs " +
                                  shape_text(golden[i].shape) + ") for " + key_ + ":" + side + ":" +
                                  std::to_string(i) + ".";
      log().error(message);
      return message;
    }
    return std::nullopt;
  }

  ResultEntry compare_tensors(const DumpedOperator& my_op, const DumpedOperator& golden_op,
                              const DumpedTensor& mine, const DumpedTensor& golden, bool is_input,
                              std::size_t index) {
    ResultEntry entry;
    entry.op_type = op_type_of_file(my_op.path);
    entry.tensor = name_ + (is_input ? ":input:" : ":output:") + std::to_string(index);
    entry.shape = shape_cell(mine.shape);
    entry.my_dtype = dtype_cell(mine.data_type);
    entry.golden_dtype = dtype_cell(golden.data_type);
    entry.my_address = address_cell(mine);
    entry.golden_address = address_cell(golden);
    log().info("[" + name_ + "] compare " + std::string(model::format_name(mine.format)) + " " +
               shape_text(mine.shape) + " for " + entry.tensor + ".");
    const TensorData left = as_numbers(restore_original(mine, {}, log())),
                     right = as_numbers(restore_original(golden, {}, log()));
    const PairFacts facts{my_op.path, golden_op.path, is_scalar_shape(mine.shape)};
    auto results = measure(left, right, facts);
    entry.values = results ? std::move(results->values) : comparison_.algorithms.failed_values();
    entry.messages = results ? std::move(results->messages) : std::vector{results.error().message};
    if (comparison_.columns.has_overflow) entry.overflow = overflow(mine, is_input, index);
    return entry;
  }

  Outcome<AlgorithmResults> measure(const TensorData& left, const TensorData& right, const PairFacts& facts) {
    if (left.count() == right.count())
      return comparison_.algorithms.measure(left, right, facts, 0, comparison_.threads, log());
    Failure failure{Status::invalid_shape, "[" + key_ + "_TENSOR] Shape mismatch after restore: (" +
                                               std::to_string(left.count()) + ",) vs (" +
                                               std::to_string(right.count()) + ",)"};
    log().warn(failure.message);
    return failure;
  }

  std::string overflow(const DumpedTensor& mine, bool is_input, std::size_t index) {
    std::string result = overflow_of(mine);
    if (result == "YES")
      log().warn(name_ + " operator " + (is_input ? "input:" : "output:") + std::to_string(index) +
                 " is overflow.");
    return result;
  }

  const GroupComparison& comparison_;
  std::size_t index_;
  const NpuPair& pair_;
  OperatorFiles mine_, golden_;
  std::string key_, name_;
  GroupResult result_;
};

}  // namespace

std::vector<NpuPair> pair_operators(const DumpFolder& mine, const DumpFolder& golden) {
  const FilesByOperator &my_files = mine.files(), &golden_files = golden.files();
  std::vector<NpuPair> pairs;
  auto left = my_files.after({}), right = golden_files.after({});
  while (!left.is_none() || !right.is_none()) {
    const std::string_view my_key = left.is_none() ? "" : my_files.key(left),
                           golden_key = right.is_none() ? "" : golden_files.key(right);
    const bool is_mine = !left.is_none() && (right.is_none() || my_key <= golden_key);
    const bool is_golden = !right.is_none() && (left.is_none() || golden_key <= my_key);
    pairs.push_back({is_mine ? left : FilesByOperator::Span(), is_golden ? right : FilesByOperator::Span()});
    if (is_mine) left = my_files.after(left);
    if (is_golden) right = golden_files.after(right);
  }
  std::ranges::sort(pairs, {}, [&](const NpuPair& pair) {
    const bool is_mine = !pair.mine.is_none();
    const FilesByOperator& files = is_mine ? my_files : golden_files;
    const auto op = is_mine ? pair.mine : pair.golden;
    return std::tuple(!is_mine, files.time_us(op), files.first_file(op));
  });
  return pairs;
}

GroupResult compare_npu_pair(const GroupComparison& comparison, std::size_t index, const NpuPair& pair) {
  return PairComparer(comparison, index, pair).compare();
}

GroupResult give_up_npu_pair(const GroupComparison& comparison, std::size_t index, const NpuPair& pair,
                             const std::string& why) {
  return PairComparer(comparison, index, pair).give_up(why);
}

}  // namespace opdump::msaccucmp
