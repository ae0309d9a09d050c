# %% [markdown]
# Rules:
#
# - "it is among `box.parameters()`"
# - "among `box.buffers()`"
# - "it is in `box.state_dict()`"
# - "`box.double()` changes its dtype"
# - "changes it"
# - "`""` means none"

# %% wrong="lists are looked into" says=["f is not 'PSMT'", "never into it", "h is not 'PSMT'"]
predict_registration = {"a": "PSMT", "b": "", "c": "", "d": "BSM", "e": "BM", "f": "PSMT"}
predict_registration |= {"g": "PSMT", "h": "PSMT", "i": "PSM", "j": ""}


# %% wrong="requires_grad makes a parameter" says=["c is not 'PSMT'", "no drawer holds it", "b is not 'SM'"]
predict_registration = {"a": "PSMT", "b": "SM", "c": "PSMT", "d": "BSM", "e": "BM", "f": ""}
predict_registration |= {"g": "PSMT", "h": "", "i": "PSM", "j": ""}


# %% wrong="not persistent does not move; frozen is no parameter" says=["e is not 'B'", "only: not saved", "i is not 'SM'", "still a parameter"]
predict_registration = {"a": "PSMT", "b": "", "c": "", "d": "BSM", "e": "B", "f": ""}
predict_registration |= {"g": "PSMT", "h": "", "i": "SM", "j": ""}


# %% wrong="a product of a parameter is one; it trains" says=["j is not 'PSMT'", "g is not 'PSM'"]
predict_registration = {"a": "PSMT", "b": "", "c": "", "d": "BSM", "e": "BM", "f": ""}
predict_registration |= {"g": "PSM", "h": "", "i": "PSM", "j": "PSMT"}


# %% wrong="buffers train" breaks="changes it" says=["d is not 'BSMT'", "saved and moved, and not trained"]
predict_registration = {"a": "PSMT", "b": "", "c": "", "d": "BSMT", "e": "BM", "f": ""}
predict_registration |= {"g": "PSMT", "h": "", "i": "PSM", "j": ""}


# %% wrong="words in place of letters" says=["'yes'?", "the letters are P, B, S, M and T"]
predict_registration = dict.fromkeys("abcdefghij", "yes")


# %% wrong="None for none" breaks="`\"\"` means none" says=["still blank: b"]
predict_registration = {"a": "PSMT", "b": None, "c": "", "d": "BSM", "e": "BM", "f": ""}
predict_registration |= {"g": "PSMT", "h": "", "i": "PSM", "j": ""}


# %% right="small letters, other orders"
predict_registration = {"a": "tsmp", "b": "", "c": "", "d": "msb", "e": "m b", "f": ""}
predict_registration |= {"g": "P, S, M, T", "h": "", "i": "MSP", "j": ""}


# %% right="by groups"
predict_registration = dict.fromkeys("abcdefghij", "")
for names, letters in (("ag", "PMST"), ("d", "BMS"), ("e", "BM"), ("i", "PMS")):
    for name in names:
        predict_registration[name] = letters


# %% wrong="what is frozen is no parameter" breaks="it is among `box.parameters()`" says=["i is not 'SM'", "still a parameter"]
predict_registration = {"a": "PSMT", "b": "", "c": "", "d": "BSM", "e": "BM", "f": ""}
predict_registration |= {"g": "PSMT", "h": "", "i": "SM", "j": ""}


# %% wrong="what isn't saved is no buffer" breaks="among `box.buffers()`" says=["e is not 'M'", "only: not saved"]
predict_registration = {"a": "PSMT", "b": "", "c": "", "d": "BSM", "e": "M", "f": ""}
predict_registration |= {"g": "PSMT", "h": "", "i": "PSM", "j": ""}


# %% wrong="every buffer is saved" breaks="it is in `box.state_dict()`" says=["e is not 'BSM'", "only: not saved"]
predict_registration = {"a": "PSMT", "b": "", "c": "", "d": "BSM", "e": "BSM", "f": ""}
predict_registration |= {"g": "PSMT", "h": "", "i": "PSM", "j": ""}


# %% wrong="only parameters change their dtype" breaks="`box.double()` changes its dtype" says=["d is not 'BS'", "e is not 'B'"]
predict_registration = {"a": "PSMT", "b": "", "c": "", "d": "BS", "e": "B", "f": ""}
predict_registration |= {"g": "PSMT", "h": "", "i": "PSM", "j": ""}
