"""What PyTorch is here, as one JSON line."""
import json

import torch

found = {"torch": torch.__version__, "torch's CUDA": torch.version.cuda,
         "NCCL": ".".join(map(str, torch.cuda.nccl.version()))}
for name in ("transformers", "triton"):
    try:
        found[name] = __import__(name).__version__
    except ImportError:
        continue
print(json.dumps(found))
