#include "msaccucmp/convert/thread_shapes.h"

#include <nlohmann/json.hpp>

#include "base/text/json.h"
#include "base/text/text.h"
#include "msaccucmp/log.h"

namespace opdump::msaccucmp {
namespace {

using model::Shape;
using nlohmann::json;

constexpr Status kShapesMissing{42};

bool is_by_threads(const json& attribute) {
  const auto mode = attribute.find("threadMode");
  if (mode == attribute.end()) return false;
  return mode->is_boolean() ? mode->get<bool>() : mode->is_number() && *mode != 0;
}

std::optional<std::uint64_t> thread_of(const std::string& path) {
  const auto parts = split(path, '.');
  return parts.size() < 2 ? std::nullopt : parse_uint64(parts[parts.size() - 2]);
}

// Of "[{lower, higher}, ...]"; nothing if it is something else.
std::optional<Shape> shape_of(const json& ranges) {
  if (!ranges.is_array()) return std::nullopt;
  std::vector<std::int64_t> dims;
  for (const json& range : ranges) {
    const auto number = [&](const char* key) -> std::optional<std::int64_t> {
      if (!range.is_object() || !range.contains(key) || !range[key].is_number_integer()) return std::nullopt;
      return range[key].get<std::int64_t>();
    };
    std::int64_t extent = 0;
    if (!number("lower") || !number("higher") ||
        __builtin_sub_overflow(*number("higher"), *number("lower"), &extent))
      return std::nullopt;
    dims.push_back(extent);
  }
  return Shape(std::span<const std::int64_t>(dims));
}

class ThreadReader {
 public:
  ThreadReader(const DumpFile& file, const json& attribute, std::uint64_t thread, Log& log)
      : file_(file), attribute_(attribute), thread_(thread), log_(log) {}

  Outcome<std::optional<ThreadShapes>> read() {
    ThreadShapes shapes;
    Status status = read_side("input_tensor_slice", file_.data.inputs.size(), shapes.inputs);
    if (status == Status::ok)
      status = read_side("output_tensor_slice", file_.data.outputs.size(), shapes.outputs);
    if (status != Status::ok) return Failure{status, ""};
    return std::optional(std::move(shapes));
  }

 private:
  Status read_side(const char* key, std::size_t tensors, std::vector<Shape>& shapes) {
    const auto threads = attribute_.find(key);
    if (threads == attribute_.end()) return log_.crash("'" + std::string(key) + "'");
    if (threads->is_array() && !threads->empty()) {
      if (thread_ >= threads->size()) return log_.crash("list index out of range");
      for (const json& ranges : (*threads)[thread_]) {
        const auto shape = shape_of(ranges);
        if (!shape) return log_.crash("the ranges of '" + std::string(key) + "' are none");
        shapes.push_back(*shape);
      }
    }
    if (tensors == 0 || shapes.size() == tensors) return Status::ok;
    return log_.fail(kShapesMissing, "The length of shape_list (" + std::to_string(shapes.size()) +
                                         ") is not equal to the length of tensor_list (" +
                                         std::to_string(tensors) + ").");
  }

  const DumpFile& file_;
  const json& attribute_;
  std::uint64_t thread_;
  Log& log_;
};

}  // namespace

Outcome<std::optional<ThreadShapes>> find_thread_shapes(const DumpFile& file, Log& log) {
  if (file.data.attributes.empty()) return std::optional<ThreadShapes>();
  const json attribute = parse_json(file.data.attributes[0].value);
  if (!attribute.is_object() || !is_by_threads(attribute)) return std::optional<ThreadShapes>();
  if (const auto thread = thread_of(file.path.string()))
    return ThreadReader(file, attribute, *thread, log).read();
  return log.fail(Status::invalid_path,
                  "Parse thread_id failed, please check dump_path! dump_path: " + file.path.string());
}

}  // namespace opdump::msaccucmp
