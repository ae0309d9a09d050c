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


# %% wrong="buffers train" says=["d is not 'BSMT'", "saved and moved, and not trained"]
predict_registration = {"a": "PSMT", "b": "", "c": "", "d": "BSMT", "e": "BM", "f": ""}
predict_registration |= {"g": "PSMT", "h": "", "i": "PSM", "j": ""}


# %% wrong="words in place of letters" says=["'yes'?", "the letters are P, B, S, M and T"]
predict_registration = dict.fromkeys("abcdefghij", "yes")


# %% wrong="None for none" says=["still blank: b"]
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
