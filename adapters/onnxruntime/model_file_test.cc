#include "model_file.h"

#include <gtest/gtest.h>

#include <protozero/pbf_writer.hpp>

#include "dtypes.h"
#include "failure.h"
#include "fused.h"
#include "initializers.h"
#include "origin.h"
#include "parts.h"
#include "rewrite.h"

namespace opdump::onnx {
namespace {

using protozero::pbf_writer;
using Names = std::vector<std::string>;

// Writes models as an exporter does.
class ModelText {
 public:
  ModelText& node(const std::string& type, const Names& inputs, const Names& outputs,
                  const std::string& name = "", const std::string& attribute = "",
                  const std::string& domain = "") {
    std::string bytes;
    pbf_writer to(bytes);
    for (const std::string& input : inputs) to.add_string(1, input);
    for (const std::string& output : outputs) to.add_string(2, output);
    if (!name.empty()) to.add_string(3, name);
    to.add_string(4, type);
    if (!attribute.empty()) to.add_message(5, attribute);
    if (!domain.empty()) to.add_string(7, domain);
    return add(1, bytes);
  }
  ModelText& input(const std::string& name) { return value(11, name); }
  ModelText& output(const std::string& name) { return value(12, name); }
  ModelText& add(protozero::pbf_tag_type tag, const std::string& bytes) {
    pbf_writer(graph_).add_message(tag, bytes);
    return *this;
  }
  const std::string& graph() const { return graph_; }
  std::string bytes() const {
    std::string bytes;
    pbf_writer to(bytes);
    to.add_int64(1, 8);
    to.add_message(7, graph_);
    return bytes;
  }

 private:
  ModelText& value(protozero::pbf_tag_type tag, const std::string& name) {
    std::string bytes;
    pbf_writer(bytes).add_string(1, name);
    return add(tag, bytes);
  }
  std::string graph_;
};

struct TensorText {
  std::string name = "w";
  std::vector<std::int64_t> dims{2};
  int type = 1;
  std::string raw{};
  std::vector<std::pair<std::string, std::string>> external{};

  std::string bytes() const {
    std::string bytes;
    pbf_writer to(bytes);
    to.add_packed_int64(1, dims.begin(), dims.end());
    to.add_int32(2, type);
    to.add_string(8, name);
    if (!raw.empty()) to.add_bytes(9, raw);
    for (const auto& [key, value] : external) {
      pbf_writer entry(to, 13);
      entry.add_string(1, key);
      entry.add_string(2, value);
    }
    if (!external.empty()) to.add_enum(14, 1);
    return bytes;
  }
};

std::string failure_of(const std::string& bytes) {
  try {
    const ModelFile model = read_model(bytes);
    Initializers initializers(model, "/tmp");
    for (std::size_t i = 0; i < model.initializers.size(); ++i) initializers.find(i);
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "accepted";
}

TEST(ModelFile, PutsOperatorsIntoAnOrderOfExecutionAndNamesThem) {
  const std::string bytes =
      ModelText().node("Exp", {"b"}, {"c"}).node("Neg", {"a"}, {"b"}, "neg").input("a").output("c").bytes();
  const ModelFile model = read_model(bytes);
  ASSERT_EQ(model.nodes.size(), 2u);
  EXPECT_EQ(model.nodes[0].name, "neg");
  EXPECT_EQ(model.nodes[1].name, "Exp_0");
  EXPECT_EQ(model.producers.at("c"), 1u);
}

TEST(ModelFile, FunctionsHaveTheVersionOfTheirDomain) {
  std::string bytes = ModelText()
                          .node("Neg", {"a"}, {"b"})
                          .node("FusedConv", {"b"}, {"c"}, "", "", "com.microsoft")
                          .node("Abs", {"c"}, {"d"}, "", "", "ai.onnx")
                          .node("Odd", {"d"}, {"e"}, "", "", "org.example")
                          .input("a")
                          .output("e")
                          .bytes();
  for (const auto& [domain, version] :
       {std::pair(std::string(), 17), std::pair(std::string("com.microsoft"), 1)}) {
    std::string opset;
    pbf_writer to(opset);
    to.add_string(1, domain);
    to.add_int64(2, version);
    pbf_writer(bytes).add_message(8, opset);
  }
  const ModelFile model = read_model(bytes);
  ASSERT_EQ(model.nodes.size(), 4u);
  EXPECT_EQ(model.function_of(model.nodes[0]), "onnx::Neg.17");
  EXPECT_EQ(model.function_of(model.nodes[1]), "com.microsoft::FusedConv.1");
  EXPECT_EQ(model.function_of(model.nodes[2]), "onnx::Abs.17");
  EXPECT_EQ(model.function_of(model.nodes[3]), "org.example::Odd");
}

TEST(ModelFile, KeepsTheOrderOfTheFileWhereItIsOne) {
  ModelText text;
  text.input("x");
  for (int i = 0; i < 20; ++i) text.node("Neg", {"x"}, {"y" + std::to_string(i)}, "n" + std::to_string(i));
  const std::string bytes = text.bytes();
  const ModelFile model = read_model(bytes);
  for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(model.nodes[i].name, "n" + std::to_string(i));
}

TEST(ModelFile, SubgraphsReadValuesFromOutside) {
  const std::string inner =
      ModelText().node("Neg", {"late"}, {"t"}).node("Exp", {"t"}, {"u"}).output("u").graph();
  std::string attribute;
  pbf_writer(attribute).add_message(6, inner);
  const std::string bytes = ModelText()
                                .node("If", {"yes"}, {"r"}, "if", attribute)
                                .node("Abs", {"x"}, {"late"}, "abs")
                                .input("x")
                                .input("yes")
                                .bytes();
  const ModelFile model = read_model(bytes);
  EXPECT_EQ(model.nodes[0].name, "abs");
  EXPECT_EQ(model.nodes[1].inner_count, 2u);
  EXPECT_EQ(model.nodes[1].captured, std::vector<std::string_view>{"late"});
  EXPECT_TRUE(is_no_task(model.nodes[1]));
}

TEST(ModelFile, RefusesWhatCannotRun) {
  EXPECT_NE(failure_of("").find("no graph"), std::string::npos);
  EXPECT_NE(failure_of(ModelText().bytes()).find("no graph with operators"), std::string::npos);
  EXPECT_EQ(failure_of(ModelText().node("Neg", {"b"}, {"a"}, "one").node("Neg", {"a"}, {"b"}, "two").bytes()),
            "the graph has a cycle: operator one needs its own output");
  EXPECT_EQ(failure_of(ModelText().node("Neg", {"a"}, {"a"}, "self").bytes()),
            "the graph has a cycle: operator self needs its own output");
  EXPECT_EQ(failure_of(ModelText().node("Neg", {"a"}, {"b"}, "neg").bytes()),
            "operator neg reads a, which nothing produces");
  EXPECT_EQ(failure_of(ModelText().input("a").node("Neg", {"a"}, {"b"}).node("Abs", {"a"}, {"b"}).bytes()),
            "value b is produced twice");
  EXPECT_EQ(failure_of(ModelText().input("a").node("Neg", {"a"}, {"a"}).bytes()),
            "value a is produced twice");
  EXPECT_EQ(failure_of(ModelText().input("a").input("a").node("Neg", {"a"}, {"b"}).bytes()),
            "input a occurs twice");
}

TEST(ModelFile, RefusesEveryPartOfAModel) {
  const std::string bytes = ModelText()
                                .add(5, TensorText{.raw = std::string(8, 'x')}.bytes())
                                .node("Add", {"a", "w"}, {"b"})
                                .input("a")
                                .output("b")
                                .bytes();
  EXPECT_EQ(failure_of(bytes), "accepted");
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_NE(failure_of(bytes.substr(0, size)), "accepted");
}

TEST(ModelFile, RefusesFieldsOfAnotherKind) {
  std::string graph_as_number, nodes_as_numbers;
  pbf_writer(graph_as_number).add_int64(7, 5);
  pbf_writer(nodes_as_numbers).add_int64(1, 5);
  EXPECT_NE(failure_of(graph_as_number).find("not an ONNX model"), std::string::npos);
  std::string bytes;
  pbf_writer(bytes).add_message(7, nodes_as_numbers);
  EXPECT_NE(failure_of(bytes).find("not an ONNX model"), std::string::npos);
}

TEST(ModelFile, RefusesSubgraphsWithoutEnd) {
  std::string inner = ModelText().node("Neg", {"x"}, {"y"}).graph();
  for (int depth = 0; depth < 40; ++depth) {
    std::string attribute;
    pbf_writer(attribute).add_message(6, inner);
    inner = ModelText().node("If", {"x"}, {"y"}, "", attribute).graph();
  }
  std::string bytes;
  pbf_writer(bytes).add_message(7, inner);
  EXPECT_EQ(failure_of(bytes), "subgraphs are nested more than 32 deep");
}

std::string with_tensor(const TensorText& tensor) {
  return ModelText().add(5, tensor.bytes()).node("Add", {"a", "w"}, {"b"}).input("a").bytes();
}

TEST(Initializers, RefuseDataThatDoNotFit) {
  EXPECT_EQ(failure_of(with_tensor({.raw = std::string(8, 'x')})), "accepted");
  EXPECT_EQ(failure_of(with_tensor({.raw = std::string(7, 'x')})),
            "initializer w: 7 bytes of data; its 2 elements need 8");
  EXPECT_EQ(failure_of(with_tensor({.dims = {-1}, .raw = "x"})), "w: a dimension of -1");
  EXPECT_EQ(failure_of(with_tensor({.dims = {1 << 30, 1 << 30, 1 << 30}, .raw = "x"})),
            "w: its shape has more elements than any memory");
  EXPECT_EQ(failure_of(with_tensor({.dims = {std::int64_t{1} << 40}, .raw = "x"})),
            "initializer w: 1 bytes of data; its 1099511627776 elements need 4398046511104");
  EXPECT_EQ(failure_of(with_tensor({.dims = std::vector<std::int64_t>(65, 1), .raw = "x"})),
            "an initializer has too many dimensions");
}

TEST(Initializers, RefuseFilesOutsideOfTheFolder) {
  for (const char* place : {"../etc/passwd", "/etc/passwd", "", ".", "a/../../etc/passwd"}) {
    const std::string failure = failure_of(with_tensor({.external = {{"location", place}}}));
    EXPECT_EQ(failure,
              "initializer w: its data are in '" + std::string(place) + "', outside of the model's folder");
  }
  EXPECT_NE(failure_of(with_tensor({.external = {{"location", "not there"}}})).find("No such file"),
            std::string::npos);
  EXPECT_NE(
      failure_of(with_tensor({.external = {{"offset", "-1"}}})).find("its position in another file is '-1'"),
      std::string::npos);
}

TEST(Initializers, ReadNumbersOfEveryField) {
  std::string bytes;
  pbf_writer to(bytes);
  const std::vector<std::int64_t> dims{2};
  const std::vector<std::int32_t> numbers{1, -2};
  to.add_packed_int64(1, dims.begin(), dims.end());
  to.add_int32(2, 3);  // int8
  to.add_packed_int32(5, numbers.begin(), numbers.end());
  to.add_string(8, "w");
  const std::string model_bytes = ModelText().add(5, bytes).node("Add", {"a", "w"}, {"b"}).input("a").bytes();
  const ModelFile model = read_model(model_bytes);
  Initializers initializers(model, {});
  const auto data = initializers.find(0);
  ASSERT_EQ(data.size(), 2u);
  EXPECT_EQ(static_cast<signed char>(data[1]), -2);
  EXPECT_EQ(initializers.find(0).data(), data.data());
}

TEST(Rewrite, APartHasWhatItNeeds) {
  const std::string bytes = ModelText()
                                .add(5, TensorText{.raw = std::string(8, 'x')}.bytes())
                                .add(5, TensorText{.name = "v", .raw = std::string(8, 'y')}.bytes())
                                .node("Add", {"a", "w"}, {"b"}, "first")
                                .node("Add", {"b", "v"}, {"c"}, "second")
                                .node("Neg", {"a"}, {"d"}, "other")
                                .input("a")
                                .input("v")  // as old files do
                                .output("c")
                                .bytes();
  const ModelFile model = read_model(bytes);
  const std::vector<std::string_view> outputs{"b"};
  const std::string part_bytes = encode_part(model, find_ancestors(model, 3, outputs), outputs);
  const ModelFile part = read_model(part_bytes);
  ASSERT_EQ(part.nodes.size(), 1u);
  EXPECT_EQ(part.nodes[0].name, "first");
  EXPECT_EQ(part.initializers.size(), 1u);
  EXPECT_EQ(part.inputs.size(), 1u);
  ASSERT_EQ(part.outputs.size(), 1u);
  EXPECT_EQ(part.outputs[0].name, "b");
}

TEST(Parts, FitIntoTheLimitAndFeedEachOther) {
  const std::string bytes = ModelText()
                                .node("Constant", {}, {"k"})
                                .node("Neg", {"x"}, {"a"})
                                .node("Add", {"a", "k"}, {"b"})
                                .node("Abs", {"b"}, {"c"})
                                .node("Split", {"c"}, {"s"})
                                .node("Join", {"s"}, {"d"})
                                .node("Add", {"a", "d"}, {"e"})
                                .input("x")
                                .output("e")
                                .bytes();
  const ModelFile model = read_model(bytes);
  const std::map<std::string_view, std::uint64_t> sizes{
      {"a", 40}, {"b", 40}, {"c", 40}, {"s", 80}, {"d", 400}};
  const auto all = [](std::string_view name) { return name != "k"; };
  const auto parts =
      cut_into_parts(model, 100, sizes, all, [](std::string_view name) { return name != "s"; });
  using Values = std::vector<std::string_view>;
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[0].feeds, Values{"x"});
  EXPECT_EQ(parts[0].values, (Values{"a", "b"}));
  EXPECT_EQ(parts[1].first, 3u);
  EXPECT_EQ(parts[1].feeds, Values{"b"});
  EXPECT_EQ(parts[2].first, 4u);  // the value s crosses nowhere
  EXPECT_EQ(parts[2].feeds, (Values{"a", "c"}));
  EXPECT_EQ(nodes_of(model, parts[0]), (std::vector<std::size_t>{0, 1, 2}));

  const std::vector<Feed> feeds{{"a", kFloat}, {"c", kFloat}};
  const std::string part_bytes = encode_part(model, nodes_of(model, parts[2]), parts[2].values, &feeds);
  const ModelFile part = read_model(part_bytes);
  ASSERT_EQ(part.inputs.size(), 2u);
  EXPECT_EQ(part.inputs[0].name, "a");
  EXPECT_EQ(part.inputs[0].element_type, kFloat);
}

TEST(Parts, AConstantIsMadeInEachPartThatReadsIt) {
  const std::string bytes = ModelText()
                                .node("Constant", {}, {"k"})
                                .node("Add", {"x", "k"}, {"a"})
                                .node("Add", {"a", "k"}, {"b"})
                                .input("x")
                                .output("b")
                                .bytes();
  const ModelFile model = read_model(bytes);
  const auto yes = [](std::string_view) { return true; };
  const auto parts = cut_into_parts(model, 10, {{"a", 40}, {"b", 40}}, yes, yes);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[1].feeds, (std::vector<std::string_view>{"a"}));
  EXPECT_EQ(nodes_of(model, parts[1]), (std::vector<std::size_t>{0, 2}));
}

TEST(Fused, StandsForWhatLiesBetweenItsValues) {
  const std::string original_bytes = ModelText()
                                         .node("Conv", {"x"}, {"c"}, "conv")
                                         .node("Relu", {"c"}, {"r"}, "relu")
                                         .node("MaxPool", {"r"}, {"p"}, "pool")
                                         .input("x")
                                         .output("p")
                                         .bytes();
  const std::string fused_bytes = ModelText()
                                      .node("FusedConv", {"x"}, {"r"}, "fused")
                                      .node("MaxPool", {"r"}, {"p"}, "pool")
                                      .input("x")
                                      .output("p")
                                      .bytes();
  const std::string blocked_bytes =
      ModelText()
          .node("Conv", {"x"}, {"reorder"}, "r_nchwc", "", "com.microsoft.nchwc")
          .node("MaxPool", {"reorder"}, {"reorder_1"}, "p_nchwc", "", "com.microsoft.nchwc")
          .node("ReorderOutput", {"reorder_1"}, {"p"}, "", "", "com.microsoft.nchwc")
          .input("x")
          .output("p")
          .bytes();
  const ModelFile original = read_model(original_bytes), fused = read_model(fused_bytes),
                  blocked = read_model(blocked_bytes);
  using All = std::vector<Names>;
  EXPECT_EQ(find_original_names(original, fused), (All{{"conv", "relu"}, {"pool"}}));
  EXPECT_EQ(find_original_names(original, blocked), (All{{"conv", "relu"}, {"pool"}, {}}));
}

TEST(Fused, BlockedConvolutionsThatAddAndActivate) {
  const std::string original_bytes = ModelText()
                                         .node("Conv", {"x"}, {"c"}, "conv")
                                         .node("Add", {"c", "x"}, {"s"}, "add")
                                         .node("Relu", {"s"}, {"r"}, "relu")
                                         .node("Conv", {"r"}, {"d"}, "next")
                                         .input("x")
                                         .output("d")
                                         .bytes();
  std::string activation;
  pbf_writer(activation).add_string(1, "activation");
  const std::string blocked_bytes = ModelText()
                                        .node("Conv", {"x", "", "", "x"}, {"p"}, "c_nchwc", activation)
                                        .node("Conv", {"p"}, {"q"}, "d_nchwc_1")
                                        .input("x")
                                        .output("q")
                                        .bytes();
  using All = std::vector<Names>;
  EXPECT_EQ(find_original_names(read_model(original_bytes), read_model(blocked_bytes)),
            (All{{"conv", "add", "relu"}, {"next"}}));
}

TEST(Origin, OfTorchsExporter) {
  const auto node_of = [](const std::vector<std::pair<std::string, std::string>>& metadata) {
    std::string node;
    pbf_writer to(node);
    to.add_string(4, "Conv");
    for (const auto& [key, value] : metadata) {
      std::string entry;
      pbf_writer pair(entry);
      pair.add_string(1, key);
      pair.add_string(2, value);
      to.add_message(9, entry);
    }
    return node;
  };
  const std::string scopes = "pkg.torch.onnx.name_scopes", trace = "pkg.torch.onnx.stack_trace";
  const std::string torch = "/usr/lib/python3/dist-packages/torch/nn/conv.py";
  const Origin origin =
      find_origin(node_of({{scopes, "['', 'layer1', 'layer1.0', 'conv2d']"},
                           {trace,
                            "File \"/home/net.py\", line 7, in forward\n    return self.layer1(x)\n"
                            "  File \"/x/site-packages/vision/resnet.py\", line 92, in forward\n"
                            "  File \"" +
                                torch + "\", line 553, in forward\n"}}));
  EXPECT_EQ(origin.module, "layer1.0");
  EXPECT_EQ(origin.frames, (Names{"/x/site-packages/vision/resnet.py:92:forward", "/home/net.py:7:forward"}));
  EXPECT_EQ(origin.source_file, "/home/net.py");
  EXPECT_EQ(origin.source_line, 7);
  EXPECT_EQ(find_origin(node_of({{scopes, "['', 'add']"}})).module, "");
  for (const char* text : {"", "[", "'", "''", "'a", "File \"", "File \"a\", line x",
                           "File \"\", line 1, in f", "\", line 3File \"a"}) {
    const Origin odd = find_origin(node_of({{scopes, text}, {trace, text}}));
    EXPECT_EQ(odd.module + odd.source_file, "") << text;
  }
  EXPECT_EQ(find_origin(node_of({{scopes, "['', 'a', 'b']"}}) + "\x4a\xff").module, "");
}

}  // namespace
}  // namespace opdump::onnx
