"""Shows that ptx.py finds what it is for, in bodies that are wrong."""

import ptx

WAIT = "griddepcontrol.launch_dependents;\n%s\ngriddepcontrol.wait;\n%s\nret;"
BASE = """ld.param.b64 %rd1, [k_param_0];
ld.param.b64 %rd2, [k_param_1];
cvta.to.global.u64 %rd3, %rd1;
add.s64 %rd4, %rd3, 16;
cvta.to.global.u64 %rd5, %rd2;
"""
CASES = {
    "weight before": ("ld.global.nc.v4.b32 {%r1, %r2, %r3, %r4}, [%rd4];", ""),
    "row before": ("ld.global.b32 %r1, [%rd5];", ""),
    "row before, as a constant": ("ld.global.nc.b32 %r1, [%rd5];", ""),
    "row behind": ("", "ld.global.b32 %r1, [%rd5];"),
    "row behind, as a constant": ("", "@%p1 ld.global.nc.b32 %r1, [%rd5];"),
    "result before": ("st.global.b32 [%rd5], %r1;", ""),
}

for case, (before, behind) in CASES.items():
    fault = ptx.find_fault("k", WAIT % (BASE + before, behind), True, {0})
    print(f"{case}: {fault}")
