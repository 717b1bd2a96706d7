#include "format/tables/msprobe.h"

#include <gtest/gtest.h>

namespace opdump::format {
namespace {

using model::Side;
using Calls = std::vector<std::pair<std::string, std::vector<MsprobeTensor>>>;

Calls decode(std::string_view text, std::uint64_t odd = 0) {
  Calls calls;
  const auto done =
      decode_msprobe_dump(text, [&](const std::string& name, std::vector<MsprobeTensor> tensors,
                                    const std::string&) { calls.emplace_back(name, std::move(tensors)); });
  EXPECT_TRUE(done) << done.error().message();
  EXPECT_EQ(done ? *done : 99, odd);
  return calls;
}

std::string in_data(std::string_view call) {
  return R"({"task": "statistics", "data": {"Functional.x.0.forward": )" + std::string(call) + "}}";
}

constexpr std::string_view kTensor =
    R"({"type": "torch.Tensor", "dtype": "torch.float32", "shape": [2, 3], "Max": 1.5, "Min": -Infinity, "Mean": NaN,
        "Norm": null, "md5": "0a1b2c3d", "requires_grad": false, "data_name": "x.pt"})";

TEST(Msprobe, ArgumentsThatAreNoTensors) {
  std::string arguments;
  const std::string call = R"({"input_args": [)" + std::string(kTensor) +
                           R"(, [{"type": "int", "value": 16}], {"type": "float", "value": 1e-05},
      [{"type": "int", "value": 1}, {"type": "slice", "value": [1, 2]}], {"type": "torch.device", "value": "cpu", "x": 1}],
      "input_kwargs": {"p": {"type": "bool", "value": true}, "n": {"type": "NoneType", "value": null}, "x": 3}, "output": []})";
  ASSERT_TRUE(
      decode_msprobe_dump(in_data(call), [&](auto&&, auto&&, std::string text) { arguments = text; }));
  EXPECT_EQ(arguments, R"({"1":[16],"2":1e-05,"n":null,"p":true})");
}

TEST(Msprobe, TensorsAndTheirStatistics) {
  const Calls calls =
      decode(in_data(R"({"input_args": [)" + std::string(kTensor) + R"(, {"type": "int", "value": 1}],
      "input_kwargs": {"bias": )" +
                     std::string(kTensor) + R"(}, "output": [[)" + std::string(kTensor) + "]]}"));
  ASSERT_EQ(calls.size(), 1U);
  const auto& tensors = calls[0].second;
  ASSERT_EQ(tensors.size(), 3U);
  EXPECT_EQ(tensors[0].side, Side::input);
  EXPECT_EQ(tensors[0].index, 0U);
  EXPECT_EQ(tensors[0].argument, "");
  EXPECT_EQ(tensors[0].dtype, model::DType::float32);
  EXPECT_EQ(tensors[0].shape, (model::Shape{2, 3}));
  EXPECT_EQ(tensors[0].data_name, "x.pt");
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"Max Value", "1.5"}, {"Min Value", "-inf"}, {"Avg Value", "nan"}, {"CRC-32", "0a1b2c3d"}};
  EXPECT_EQ(tensors[0].statistics, expected);
  EXPECT_EQ(tensors[1].argument, "bias");
  EXPECT_EQ(tensors[2].side, Side::output);
  EXPECT_EQ(tensors[2].argument, "0.0");
}

TEST(Msprobe, ChecksumsOfTwoKinds) {
  const Calls calls =
      decode(in_data(R"({"output": [{"dtype": "torch.int8", "shape": [], "md5": "0x7f80000040400000"}]})"));
  ASSERT_EQ(calls[0].second.size(), 1U);
  const std::vector<std::pair<std::string, std::string>> expected = {{"XOR", "0x7f80000040400000"}};
  EXPECT_EQ(calls[0].second[0].statistics, expected);
}

TEST(Msprobe, GradientsAndVariables) {
  const auto argument = [](const std::string& call) {
    const Calls calls = decode(in_data(call));
    return calls.size() == 1 && calls[0].second.size() == 1 ? calls[0].second[0].argument : "none";
  };
  EXPECT_EQ(argument(R"({"weight": [)" + std::string(kTensor) + "]}"), "weight");
  EXPECT_EQ(argument(R"([{"a": )" + std::string(kTensor) + "}]"), "0.a");
  EXPECT_EQ(argument(std::string(kTensor)), "");
  EXPECT_EQ(decode(in_data(kTensor))[0].second[0].index, 0U);
}

TEST(Msprobe, OddEntriesAreCounted) {
  decode(in_data("3"), 1);
  decode(in_data(R"({"output": [{"dtype": "torch.int8", "shape": [-1]}]})"), 1);
  decode(in_data(R"({"output": )" + std::string(1000, '[') + std::string(1000, ']') + "}"), 1);
  EXPECT_FALSE(decode_msprobe_dump("{\"data\": {\"a\": ", [](auto&&...) {}));
  EXPECT_FALSE(decode_msprobe_dump("{\"data\": []}", [](auto&&...) {}));
}

TEST(Msprobe, Names) {
  const auto parse = [](std::string_view name) {
    const MsprobeName parsed = parse_msprobe_name(name);
    return parsed.type + " " + parsed.module + (parsed.phase == model::Phase::backward ? " backward" : "");
  };
  EXPECT_EQ(parse("Functional.conv2d.0.forward"), "conv2d ");
  EXPECT_EQ(parse("Tensor.__add__.12.backward"), "__add__  backward");
  EXPECT_EQ(parse("Module.layer1.0.Conv2d.forward.3"), "Conv2d layer1.0");
  EXPECT_EQ(parse("Module.fc.Linear.parameters_grad"), "Linear fc backward");
  EXPECT_EQ(parse("optimizer"), "optimizer ");
  EXPECT_EQ(parse("hidden.0.debug"), "hidden ");
}

TEST(Msprobe, ModulesAndStacks) {
  const auto parents = decode_msprobe_construct(R"({"a": "Module.x.Y.forward.0", "b": null, "c": ["d", 1]})");
  ASSERT_TRUE(parents);
  EXPECT_EQ(*parents, (std::map<std::string, std::string>{{"a", "Module.x.Y.forward.0"}, {"c", "d"}}));
  const auto stacks = decode_msprobe_stacks(
      R"({"0": [["a", "b"], ["File /t.py, line 7, in forward, \n x = 1", "nonsense"]], "old": ["File /u.py, line 8, in g, \n y"]})");
  ASSERT_TRUE(stacks);
  const auto& frames = stacks->stacks[stacks->by_name.at("b")];
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(frames[0], (model::Frame{"/t.py", 7, "forward"}));
  EXPECT_EQ(stacks->stacks[stacks->by_name.at("old")][0].line, 8);
}

}  // namespace
}  // namespace opdump::format
