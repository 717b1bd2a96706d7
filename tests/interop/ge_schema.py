"""The messages of ge.proto by their field numbers (cann.md 6), for protoc."""

PROTO = """
syntax = "proto2";
package ge.proto;
enum DataType {
  DT_UNDEFINED = 0; DT_FLOAT = 1; DT_FLOAT16 = 2; DT_INT8 = 3; DT_UINT8 = 4; DT_INT16 = 5; DT_UINT16 = 6; DT_INT32 = 7;
  DT_INT64 = 8; DT_UINT32 = 9; DT_UINT64 = 10; DT_BOOL = 11; DT_DOUBLE = 12; DT_STRING = 13; DT_DUAL_SUB_INT8 = 14;
  DT_DUAL_SUB_UINT8 = 15; DT_COMPLEX64 = 16; DT_COMPLEX128 = 17; DT_QINT8 = 18; DT_QINT16 = 19; DT_QINT32 = 20;
  DT_QUINT8 = 21; DT_QUINT16 = 22; DT_RESOURCE = 23; DT_STRING_REF = 24; DT_DUAL = 25; DT_VARIANT = 26; DT_BF16 = 27;
  DT_INT4 = 28; DT_UINT1 = 29; DT_INT2 = 30; DT_UINT2 = 31; DT_COMPLEX32 = 32; DT_HIFLOAT8 = 33; DT_FLOAT8_E5M2 = 34;
  DT_FLOAT8_E4M3FN = 35; DT_FLOAT8_E8M0 = 36; DT_FLOAT6_E3M2 = 37; DT_FLOAT6_E2M3 = 38; DT_FLOAT4_E2M1 = 39;
  DT_FLOAT4_E1M2 = 40;
}
message AttrDef {
  message ListValue {
    enum ListValueType {
      VT_LIST_NONE = 0; VT_LIST_STRING = 1; VT_LIST_INT = 2; VT_LIST_FLOAT = 3; VT_LIST_BOOL = 4; VT_LIST_BYTES = 5;
      VT_LIST_TENSOR_DESC = 6; VT_LIST_TENSOR = 7; VT_LIST_GRAPH = 8; VT_LIST_NAMED_ATTRS = 9; VT_LIST_DATA_TYPE = 10;
    }
    repeated TEXT s = 2; repeated int64 i = 3 [packed = true]; repeated float f = 4 [packed = true];
    repeated bool b = 5 [packed = true]; repeated bytes bt = 7; repeated TensorDescriptor td = 8; repeated TensorDef t = 9;
    repeated GraphDef g = 10; repeated NamedAttrs na = 11; repeated int64 dt = 12 [packed = true];
    optional ListValueType val_type = 20;
  }
  message ListListInt {
    message ListInt { repeated int64 list_i = 1 [packed = true]; }
    repeated ListInt list_list_i = 1;
  }
  message ListListFloat {
    message ListFloat { repeated float list_f = 1 [packed = true]; }
    repeated ListFloat list_list_f = 1;
  }
  oneof value {
    ListValue list = 1; TEXT s = 2; int64 i = 3; float f = 4; bool b = 5; bytes bt = 7; NamedAttrs func = 10;
    TensorDescriptor td = 11; TensorDef t = 12; GraphDef g = 13; ListListInt list_list_int = 14; int64 dt = 15;
    ListListFloat list_list_float = 16; TEXT expression = 17;
  }
}
message Attribute { optional string key = 1; optional AttrDef value = 2; }
message NamedAttrs { optional string name = 1; MAP attr = 2; }
message ShapeDef { repeated int64 dim = 1 [packed = true]; }
message TensorDescriptor {
  optional string name = 1; optional DataType dtype = 2; optional ShapeDef shape = 3; optional string layout = 4;
  MAP attr = 5; optional bool has_out_attr = 9; optional int64 size = 10; optional int64 weight_size = 11;
  optional bool reuse_input = 12; optional bool output_tensor = 13; optional string device_type = 14;
  optional bool input_tensor = 15; optional int64 real_dim_cnt = 16; optional int64 reuse_input_index = 17;
  optional int64 data_offset = 18;
}
message TensorDef { optional TensorDescriptor desc = 1; optional bytes data = 2; }
message OpDef {
  optional string name = 1; optional string type = 2; repeated string input = 5; MAP attr = 10;
  optional bool has_out_attr = 20; optional int64 id = 21; optional int64 stream_id = 22; repeated string input_name = 23;
  repeated string src_name = 24; repeated int64 src_index = 25 [packed = true]; repeated string dst_name = 26;
  repeated int64 dst_index = 27 [packed = true]; repeated int64 input_i = 28 [packed = true];
  repeated int64 output_i = 29 [packed = true]; repeated int64 workspace = 30 [packed = true];
  repeated int64 workspace_bytes = 31 [packed = true]; repeated bool is_input_const = 32 [packed = true];
  repeated TensorDescriptor input_desc = 33; repeated TensorDescriptor output_desc = 34; repeated string subgraph_name = 35;
}
message GraphDef {
  optional string name = 1; repeated string input = 4; repeated string output = 5; repeated OpDef op = 6; MAP attr = 11;
}
message ModelDef {
  optional string name = 1; optional uint32 version = 2; optional string custom_version = 3; repeated GraphDef graph = 7;
  MAP attr = 11;
}
"""


def schema(text="bytes", maps=True):
    """`maps` as such, or as the list of entries that JSON has; `text` is what the field `s` is."""
    return PROTO.replace("TEXT", text).replace("MAP", "map<string, AttrDef>" if maps else "repeated Attribute")
