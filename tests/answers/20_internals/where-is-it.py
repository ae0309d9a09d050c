# %% [markdown]
# Rules:
#
# - "Always the innermost of them that fits"
# - "of these seven"

# %% wrong="slopes beside the engine" breaks="of these seven" says=["slopes are generated from one file"]
where_is_it = {
    "the slope of torch.atan2 is wrong": "torch/csrc",
    "nn.Dropout's docstring has a typo": "torch",
    "the CPU loop of cumsum skips an entry": "aten/src/ATen/native",
    "a new dispatch key is needed": "c10",
    "backward() starves with many threads": "torch/csrc",
    "the plan of loops merges too little": "aten/src/ATen",
    "a compiled model's generated C++ is slow": "torch/_inductor",
    "the CUDA caching allocator splits badly": "c10",
}


# %% wrong="everything in native" says=["TensorIterator serves the kernels", "storages are made below"]
where_is_it = {
    "the slope of torch.atan2 is wrong": "tools/autograd",
    "nn.Dropout's docstring has a typo": "torch",
    "the CPU loop of cumsum skips an entry": "aten/src/ATen/native",
    "a new dispatch key is needed": "c10",
    "backward() starves with many threads": "torch/csrc",
    "the plan of loops merges too little": "aten/src/ATen/native",
    "a compiled model's generated C++ is slow": "torch/_inductor",
    "the CUDA caching allocator splits badly": "aten/src/ATen/native",
}


# %% wrong="keys with the dispatcher" says=["keys are part of every tensor"]
where_is_it = {
    "the slope of torch.atan2 is wrong": "tools/autograd",
    "nn.Dropout's docstring has a typo": "torch",
    "the CPU loop of cumsum skips an entry": "aten/src/ATen/native",
    "a new dispatch key is needed": "aten/src/ATen",
    "backward() starves with many threads": "torch/csrc",
    "the plan of loops merges too little": "aten/src/ATen",
    "a compiled model's generated C++ is slow": "torch/_inductor",
    "the CUDA caching allocator splits badly": "c10",
}


# %% wrong="the engine in Python" says=["the walk back is C++"]
where_is_it = {
    "the slope of torch.atan2 is wrong": "tools/autograd",
    "nn.Dropout's docstring has a typo": "torch",
    "the CPU loop of cumsum skips an entry": "aten/src/ATen/native",
    "a new dispatch key is needed": "c10",
    "backward() starves with many threads": "torch",
    "the plan of loops merges too little": "aten/src/ATen",
    "a compiled model's generated C++ is slow": "torch/_inductor",
    "the CUDA caching allocator splits badly": "c10",
}


# %% wrong="the compiler is C++" says=["captured is made into kernels"]
where_is_it = {
    "the slope of torch.atan2 is wrong": "tools/autograd",
    "nn.Dropout's docstring has a typo": "torch",
    "the CPU loop of cumsum skips an entry": "aten/src/ATen/native",
    "a new dispatch key is needed": "c10",
    "backward() starves with many threads": "torch/csrc",
    "the plan of loops merges too little": "aten/src/ATen",
    "a compiled model's generated C++ is slow": "torch/csrc",
    "the CUDA caching allocator splits badly": "c10",
}


# %% wrong="loops by the iterator" breaks="Always the innermost of them that fits" says=["the loop is in the kernel itself"]
where_is_it = {
    "the slope of torch.atan2 is wrong": "tools/autograd",
    "nn.Dropout's docstring has a typo": "torch",
    "the CPU loop of cumsum skips an entry": "aten/src/ATen",
    "a new dispatch key is needed": "c10",
    "backward() starves with many threads": "torch/csrc",
    "the plan of loops merges too little": "aten/src/ATen",
    "a compiled model's generated C++ is slow": "torch/_inductor",
    "the CUDA caching allocator splits badly": "c10",
}


# %% right="with slashes"
where_is_it = {
    "the slope of torch.atan2 is wrong": "tools/autograd/",
    "nn.Dropout's docstring has a typo": "torch",
    "the CPU loop of cumsum skips an entry": "aten/src/ATen/native",
    "a new dispatch key is needed": "c10/",
    "backward() starves with many threads": "torch/csrc",
    "the plan of loops merges too little": "aten/src/ATen",
    "a compiled model's generated C++ is slow": "torch/_inductor",
    "the CUDA caching allocator splits badly": "c10",
}
