#!/usr/bin/env python3
"""CANN's usual Python sample: loads a model, copies images to the device, executes the model, copies the scores back.

Usage: main.py acl.json MODEL.onnx IMAGE.bin ...     an image: its numbers as float32, as the model takes them
"""
import sys

import acl
import numpy as np

ACL_MEM_MALLOC_HUGE_FIRST = 0
ACL_MEMCPY_HOST_TO_DEVICE = 1
ACL_MEMCPY_DEVICE_TO_HOST = 2


def check(what, ret):
    if ret != 0:
        raise SystemExit(f"{what} failed: {ret}: {acl.get_recent_err_msg()}")


class Model:
    def __init__(self, path):
        self.id, ret = acl.mdl.load_from_file(path)
        check("acl.mdl.load_from_file", ret)
        self.desc = acl.mdl.create_desc()
        check("acl.mdl.get_desc", acl.mdl.get_desc(self.desc, self.id))
        self.inputs, self.input_buffers = self.allocate(acl.mdl.get_num_inputs, acl.mdl.get_input_size_by_index)
        self.outputs, self.output_buffers = self.allocate(acl.mdl.get_num_outputs, acl.mdl.get_output_size_by_index)

    def allocate(self, count, size_of):
        """A dataset with memory on the device for each input or output."""
        dataset, buffers = acl.mdl.create_dataset(), []
        for i in range(count(self.desc)):
            size = size_of(self.desc, i)
            memory, ret = acl.rt.malloc(size, ACL_MEM_MALLOC_HUGE_FIRST)
            check("acl.rt.malloc", ret)
            buffer = acl.create_data_buffer(memory, size)
            _, ret = acl.mdl.add_dataset_buffer(dataset, buffer)
            check("acl.mdl.add_dataset_buffer", ret)
            buffers.append((memory, size, buffer))
        return dataset, buffers

    def execute(self, image):
        data = image.tobytes()
        memory, size, _ = self.input_buffers[0]
        check("acl.rt.memcpy", acl.rt.memcpy(memory, size, acl.util.bytes_to_ptr(data), len(data), ACL_MEMCPY_HOST_TO_DEVICE))
        check("acl.mdl.execute", acl.mdl.execute(self.id, self.inputs, self.outputs))
        results = []
        for i, (memory, size, _) in enumerate(self.output_buffers):
            host, ret = acl.rt.malloc_host(size)
            check("acl.rt.malloc_host", ret)
            check("acl.rt.memcpy", acl.rt.memcpy(host, size, memory, size, ACL_MEMCPY_DEVICE_TO_HOST))
            dims, ret = acl.mdl.get_cur_output_dims(self.desc, i)
            check("acl.mdl.get_cur_output_dims", ret)
            results.append(np.frombuffer(acl.util.ptr_to_bytes(host, size), np.float32).reshape(dims["dims"]))
            acl.rt.free_host(host)
        return results

    def release(self):
        for dataset, buffers in ((self.inputs, self.input_buffers), (self.outputs, self.output_buffers)):
            for memory, _, buffer in buffers:
                acl.destroy_data_buffer(buffer)
                acl.rt.free(memory)
            acl.mdl.destroy_dataset(dataset)
        acl.mdl.unload(self.id)
        acl.mdl.destroy_desc(self.desc)


def main():
    config, path, *images = sys.argv[1:]
    check("acl.init", acl.init(config))
    check("acl.rt.set_device", acl.rt.set_device(0))
    context, ret = acl.rt.create_context(0)
    check("acl.rt.create_context", ret)
    stream, ret = acl.rt.create_stream()
    check("acl.rt.create_stream", ret)
    model = Model(path)
    for name in images:
        (scores, *_) = model.execute(np.fromfile(name, np.float32))
        print(name)
        for rank, index in enumerate(np.argsort(-scores[0])[:5]):
            print(f"  top {rank + 1}: class {index}, score {scores[0][index]:.4f}")
    model.release()
    acl.rt.destroy_stream(stream)
    acl.rt.destroy_context(context)
    acl.rt.reset_device(0)
    check("acl.finalize", acl.finalize())


main()
