// For test_files.py only: lets other people's readers see files of ours, and ours read theirs.
//   sample_files write DIRECTORY   a dump of every dtype, with all statistics
//   sample_files calls DIRECTORY   the same tensors as inputs of one operator that overflowed, in a container
//   sample_files read FILE...      for each file: dtype, shape, elements in row-major order
//   sample_files list DIRECTORY    for each tensor of a dump: operator, slot, format, and the same
//   sample_files graph DIRECTORY   the graph files of a rank
//   sample_files nodes FILE...     for each operator in an .ir or .pb: type, full name, what it reads
#include <complex>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "dump/read/dump_set.h"
#include "dump/write/call_data.h"
#include "dump/write/graph_files.h"
#include "dump/write/model_tree.h"
#include "dump/write/rank_tree.h"
#include "format/graphs/sample_graph.h"
#include "math/layout/strided_copy.h"

namespace opdump {
namespace {

using model::DType;
using model::TensorView;

// 0, 1, ... 5 in each dtype; 0, 1, 0, 1, 0, 1 where there are only two values.
template <typename T>
std::vector<std::byte> six() {
  std::vector<std::byte> bytes(6 * sizeof(T));
  for (int i = 0; i < 6; ++i) {
    const T value = static_cast<T>(i);
    std::memcpy(&bytes[i * sizeof(T)], &value, sizeof(T));
  }
  return bytes;
}

std::vector<std::byte> raw(std::initializer_list<std::uint16_t> values, std::size_t width) {
  std::vector<std::byte> bytes;
  for (const std::uint16_t value : values)
    for (std::size_t i = 0; i < width; ++i) bytes.push_back(static_cast<std::byte>(value >> (8 * i)));
  return bytes;
}

std::vector<std::byte> elements(DType dtype) {
  switch (dtype) {
    case DType::boolean:
      return raw({0, 1, 0, 1, 0, 1}, 1);
    case DType::int8:
      return six<std::int8_t>();
    case DType::int16:
      return six<std::int16_t>();
    case DType::int32:
      return six<std::int32_t>();
    case DType::int64:
      return six<std::int64_t>();
    case DType::uint8:
      return six<std::uint8_t>();
    case DType::uint16:
      return six<std::uint16_t>();
    case DType::uint32:
      return six<std::uint32_t>();
    case DType::uint64:
      return six<std::uint64_t>();
    case DType::float16:
      return raw({0, 0x3C00, 0x4000, 0x4200, 0x4400, 0x4500}, 2);
    case DType::bfloat16:
      return raw({0, 0x3F80, 0x4000, 0x4040, 0x4080, 0x40A0}, 2);
    case DType::float32:
      return six<float>();
    case DType::float64:
      return six<double>();
    case DType::complex64:
      return six<std::complex<float>>();
    case DType::complex128:
      return six<std::complex<double>>();
    case DType::int4:
      return raw({0x10, 0x32, 0x54}, 1);
    case DType::uint1:
      return raw({0x54}, 1);
    default:
      return {};
  }
}

Result<> write(const std::filesystem::path& root) {
  OPDUMP_TRY(auto tree,
             dump::open_rank_tree({root,
                                   "Net",
                                   0,
                                   {"Max Value", "Min Value", "Avg Value", "Count", "Negative Zero Count",
                                    "Positive Zero Count", "NaN Count", "Negative Inf Count",
                                    "Positive Inf Count", "Zero Count", "MD5", "L2Norm Value"},
                                   false}));
  model::Operator op;
  op.type = "Add";
  std::uint64_t time = 1733905446819790;
  for (int number = 1; number < model::kDTypeCount; ++number) {
    const auto dtype = static_cast<DType>(number);
    const std::vector<std::byte> bytes = elements(dtype);
    if (bytes.empty()) continue;
    op.name = "Default/" + std::string(model::dtype_info(dtype).name) + ".x-op0";
    const TensorView view = TensorView::row_major(dtype, {2, 3}, bytes.data());
    const dump::SlotAddress address{
        .op = &op, .step = 0, .timestamp_us = time++, .side = model::Side::output};
    OPDUMP_TRY(const std::filesystem::path file, tree->write_tensor(address, view));
    if (!math::has_statistics(dtype)) continue;
    dump::StatisticRow row{view.byte_count(), dtype, view.shape, {}, std::string(32, 'a')};
    row.values = math::finish(math::partial_stats(view, {true, true, true, true}));
    OPDUMP_CHECK_OK(tree->write_statistics(address, row));
  }
  const float infinities[] = {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                              1e-5f};
  op.name = "Default/" + std::string(300, 'n');
  const dump::SlotAddress address{.op = &op, .step = 0, .timestamp_us = time};
  const TensorView view = TensorView::row_major(DType::float32, {3}, infinities);
  OPDUMP_TRY(const std::filesystem::path file, tree->write_tensor(address, view));
  dump::StatisticRow row{
      12, DType::float32, {3}, math::finish(math::partial_stats(view, {true, true, true, true})), ""};
  OPDUMP_CHECK_OK(tree->write_statistics(address, row));
  return tree->flush();
}

template <typename T>
void print(const std::vector<std::byte>& bytes) {
  for (std::size_t i = 0; i < bytes.size(); i += sizeof(T)) {
    T value;
    std::memcpy(&value, &bytes[i], sizeof value);
    std::printf(" %.9g", static_cast<double>(value));
  }
}

Result<> write_calls(const std::filesystem::path& root) {
  dump::ModelTreeOptions options;
  options.root = root;
  options.net_name = "Net";
  options.is_bin = true;
  options.time_directory = dump::format_local_time(1733905446000000);
  OPDUMP_TRY(auto tree, dump::open_model_tree(options));
  OPDUMP_CHECK_OK(tree->begin_step(3, true, {}));
  const model::Operator op{
      .type = "Add", .name = "Default/x.y/Add-op0", .graph_id = 1, .stream = 2, .source_file = {}, .task = 5};
  const dump::SlotAddress address{.op = &op, .graph_id = 1, .step = 3, .timestamp_us = 1733905446819790};
  std::vector<std::vector<std::byte>> memory;
  std::vector<dump::SchemeWriter::Member> members;
  for (int number = 1; number < model::kDTypeCount; ++number) {
    const auto dtype = static_cast<DType>(number);
    memory.push_back(elements(dtype));
    if (memory.back().empty()) continue;
    members.push_back({address, TensorView::row_major(dtype, {2, 3}, memory.back().data())});
    members.back().address.index = static_cast<std::uint32_t>(number);
  }
  const float sum = 1.5f;
  members.push_back({address, TensorView::row_major(DType::float32, {1, 1, 1, 1}, &sum)});
  members.back().address.side = model::Side::output;
  OPDUMP_TRY(const std::filesystem::path file, tree->write_call(members));
  return tree->write_overflow(members.back().address);
}

void print(const dump::StoredTensor& tensor) {
  const TensorView& view = tensor.view();
  std::vector<std::byte> bytes(view.byte_count());
  if (!bytes.empty()) math::copy_row_major(view, bytes);
  std::printf("%s %s", std::string(model::dtype_info(view.dtype).name).c_str(),
              model::format_shape(view.shape).c_str());
  if (view.dtype == DType::int64)
    print<std::int64_t>(bytes);
  else if (view.dtype == DType::float32)
    print<float>(bytes);
  else
    for (const std::byte byte : bytes) std::printf(" %02x", static_cast<unsigned>(byte));
  std::printf("\n");
}

Result<> read(const std::filesystem::path& file) {
  OPDUMP_TRY(const dump::StoredTensor tensor, dump::StoredTensor::read(file));
  print(tensor);
  return ok();
}

Result<> list(const std::filesystem::path& root) {
  OPDUMP_TRY(const dump::DumpSet set, dump::DumpSet::open(root));
  for (const dump::OperatorRun& run : set.runs()) {
    for (const dump::Slot& slot : run.slots) {
      std::printf("%s %s %s.%u %s ", run.type.c_str(), run.name.c_str(),
                  std::string(model::kSideNames[static_cast<int>(slot.side)]).c_str(), slot.index,
                  slot.format.c_str());
      if (slot.file.empty()) {
        std::printf("%s\n", slot.undumped_reason.c_str());
        continue;
      }
      OPDUMP_TRY(const dump::StoredTensor tensor, dump::StoredTensor::read(slot));
      print(tensor);
    }
  }
  for (const dump::Overflow& overflow : set.overflows())
    std::printf("overflow of task %llu\n", static_cast<unsigned long long>(overflow.task));
  for (const dump::Problem& problem : set.problems()) std::printf("problem: %s\n", problem.what.c_str());
  return ok();
}

Result<> write_graph(const std::filesystem::path& directory) {
  for (const std::int64_t step : {0, 1, 4}) OPDUMP_CHECK_OK(dump::append_global_order(directory, 3, step));
  return dump::write_graph(directory, format::sample_graph());
}

Result<> print_nodes(const std::filesystem::path& file) {
  OPDUMP_TRY(const auto graphs, dump::read_graph_file(file));
  for (const model::Graph& graph : graphs)
    for (const model::Node& node : graph.nodes) {
      std::printf("%s %s", node.op.type.c_str(), node.op.name.c_str());
      for (const auto& input : node.inputs) {
        const model::Source& source = input.source;
        if (source.kind == model::Source::Kind::parameter)
          std::printf(" %s", graph.parameters[source.index].name.c_str());
        else if (source.kind == model::Source::Kind::node)
          std::printf(" %s.%u", graph.nodes[source.index].op.name.c_str(), source.output);
        else
          std::printf(" ?");
      }
      std::printf("\n");
    }
  return ok();
}

struct Verb {
  std::string_view name;
  Result<> (*run)(const std::filesystem::path&);
};
constexpr Verb kVerbs[] = {{"write", write}, {"calls", write_calls}, {"list", list},
                           {"read", read},   {"graph", write_graph}, {"nodes", print_nodes}};

}  // namespace
}  // namespace opdump

int main(int argc, char** argv) {
  for (const opdump::Verb& verb : opdump::kVerbs) {
    if (argc < 3 || verb.name != argv[1]) continue;
    for (int i = 2; i < argc; ++i)
      if (const auto done = verb.run(argv[i]); !done)
        std::printf("error: %s\n", done.error().message().c_str());
    return 0;
  }
  return 2;
}
